import type { Slots } from '../understanding.ts';

const PER = '(?:每(?:一|1)?(?:张|块|个)?(?:显|gpu)?卡|单卡|per[- ]?(?:gpu|card|device)|each)';
const ALL = '(?:总(?:共|的|数|batch)?|一共|1共|全部|(?:in )?total|overall|altogether|global)';
const NOT = "(?:不是|并非|不算|not|isn'?t|rather than|instead of)";
/** "bs 16 不是每卡，是总共", "total, not per gpu", and the scope alone: "是每卡的". */
const IS_TOTAL = new RegExp(
  `${NOT} ?(?:the )?${PER}(?![^;.\n]{0,16}${NOT})|^[^\\da-z]{0,8}(?:that'?s |it'?s |i mean(?:t)? )?(?:the )?${ALL}(?:的|啊|吧|哦)?[\\s.!]*$`,
);
const IS_PER_GPU = new RegExp(
  `${NOT} ?(?:the )?${ALL}(?:的)?[^;\\n\\d]{0,10}${PER}|${PER}[^;\\n\\d]{0,6}${NOT} ?${ALL}|^[^\\da-z]{0,8}(?:that'?s |it'?s |i mean(?:t)? )?${PER}(?:的|啊|吧|哦)?[\\s.!]*$`,
);

/** A scope by itself is short; a longer message has to deny the other one. */
const LONGEST_ALONE = 32;
const DENIES = new RegExp(NOT);

/** The scope of a batch that is said for itself. */
export function scopeSaid(text: string): Slots['batchScope'] {
  if (text.length > LONGEST_ALONE && !DENIES.test(text)) return undefined;
  if (IS_PER_GPU.test(text)) return 'per_gpu';
  return IS_TOTAL.test(text) ? 'total' : undefined;
}
