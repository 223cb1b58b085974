/** How a batch and its cards are called: fragments of larger expressions. */

/** batch, batch size, batchsize, bs, 批大小. */
export const BATCH_WORD =
  '(?<!(?:eval|val|test|valid(?:ation)?|grad)[-_ ]?)(?:(?:mini|micro)?[- _]?batch(?:es)?[- _]?(?:sizes?|sz|siz|szie)?|(?<![a-z])b_?sz?|(?<![a-z])b(?= ?=)|(?<![a-z-])-b|批(?:次|量)?(?:处理)?(?:的)?(?:大小|量|数|尺寸)?)';
export const LINKS =
  '(?: |[=:是为到开设给改调降加提拉满升缩减增涨扩用成就也都可能要的"\']|of|to|from|at|is|was|was|down|up|as|换|变|只|再|试|放|从|还|已经|目前|现在|才|不能?超过?|最多|至多|最大|不超过|限制|max|大概|about|around|应该){0,10}';
export const PER_GPU =
  '(?: ?(?:张图?|图|images?|imgs?|samples?|pics?|crops?|tiles?|patch(?:es)?|个样本|个|幅|份|片)? ?(?:是|is )?(?:\\/|per|a|each|on each|每|一|(?<=[张图幅] ?)1(?=[张块]卡)) ?(?:一?张?|块)? ?(?:gpu|card|卡|device|显卡|process|worker)s?)';
