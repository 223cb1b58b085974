import { z } from 'zod';

/** Limit of `msgParam` at the OpenAPI (bytes of UTF-8); session webhooks take about 20,000 (platforms/dingtalk.md 3.2). */
const parameterBytes = 15_000;
const titleCharacters = 100;
const buttonTitleCharacters = 20;
const sendMessage = 'dtmd://dingtalkclient/sendMessage?content=';

const button = z.strictObject({ title: z.string(), actionURL: z.string() });
const at = z.strictObject({ atUserIds: z.array(z.string()).max(1), isAtAll: z.literal(false) });
const common = { at: at.optional(), msgUuid: z.string().min(1).max(64).optional() };
const message = z.discriminatedUnion('msgtype', [
  z.strictObject({ ...common, msgtype: z.literal('text'), text: z.strictObject({ content: z.string().min(1) }) }),
  z.strictObject({
    ...common,
    msgtype: z.literal('markdown'),
    markdown: z.strictObject({ title: z.string(), text: z.string().min(1) }),
  }),
  z.strictObject({
    ...common,
    msgtype: z.literal('actionCard'),
    actionCard: z.strictObject({
      title: z.string(),
      text: z.string().min(1),
      btnOrientation: z.enum(['0', '1']),
      btns: z.array(button).min(1).max(5),
    }),
  }),
]);

/** What is not in the platform's Markdown, breaks on phones, or lets a person's words act. */
const forbidden: readonly (readonly [string, RegExp])[] = [
  ['a table', /^\s*\|.*(?<!\\)\|/mu],
  ['a table rule', /^\s*\|?\s*:?-{3,}:?\s*\|/mu],
  ['a code fence', /^\s*(?:`{3}|~{3})/mu],
  ['inline code', /(?<!\\)`[^`\n]+(?<!\\)`/u],
  ['a tag', /<\/?[a-z!][^>\n]*>/iu],
  ['an image', /(?<!\\)!\[[^\]]*\]\(/u],
  ['a link into the client', /(?:dtmd|dingtalk):\/\//iu],
  ['a link', /(?<!\\)\[[^\]\n]*(?<!\\)\]\((?!https:\/\/)/u],
  ['a mention of everybody', /@(?:所有人|all\b|everyone\b)/iu],
  ['a control character', /[^\P{Cc}\n]/u],
];

const bytes = (value: unknown): number => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));

/** Ids of pictures that were uploaded: nothing else may be shown. */
type Media = Pick<ReadonlyMap<string, unknown>, 'has'>;
const none: Media = new Map();

export function markdownProblems(text: string, media: Media = none): string[] {
  const rest = text.replace(/^!\[\]\(([^()\s]+)\)$/gmu, (picture, id) => (media.has(id) ? '' : picture));
  const found = forbidden.filter(([, pattern]) => pattern.test(rest)).map(([name]) => `the text holds ${name}`);
  return text.isWellFormed() ? found : [...found, 'the text is not well-formed'];
}

function titleProblems(title: string): string[] {
  const problems: string[] = [];
  if (title.trim() === '') problems.push('the title is empty');
  if (title.length > titleCharacters) problems.push(`the title has ${title.length} characters`);
  if (/[\r\n]/u.test(title)) problems.push('the title has several lines');
  return problems;
}

function buttonProblems({ title, actionURL }: z.infer<typeof button>): string[] {
  const problems: string[] = [];
  if (title.trim() === '') problems.push('a button without a title');
  if (title.length > buttonTitleCharacters) problems.push(`the button ${title} has ${title.length} characters`);
  if (!actionURL.startsWith(sendMessage)) return [...problems, `the button ${title} leads to ${actionURL}`];
  const content = decoded(actionURL.slice(sendMessage.length));
  if (content === undefined || content.trim() === '') problems.push(`the button ${title} says nothing`);
  else if (/[ +]/u.test(content)) problems.push(`the button ${title} says a space or a plus`);
  else if (/^[{[]/u.test(content)) problems.push(`the button ${title} says JSON`);
  if (/[^\x21-\x7E]/u.test(actionURL)) problems.push(`the button ${title} is not encoded`);
  return problems;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function mentionProblems(text: string, mention: z.infer<typeof at> | undefined): string[] {
  const missing = mention?.atUserIds.filter((id) => !text.includes(`@${id}`)) ?? [];
  return missing.map((id) => `the text does not mention ${id}`);
}

/** What is wrong with a body for a session webhook; empty when nothing. */
export function messageProblems(body: unknown, media: Media = none): string[] {
  const { data, error } = message.safeParse(body);
  if (data === undefined) return (error?.issues ?? []).map(({ path, message: text }) => `${path.join('.')}: ${text}`);
  const size = bytes(body) > parameterBytes ? [`${bytes(body)} bytes`] : [];
  if (data.msgtype === 'text') return [...size, ...mentionProblems(data.text.content, data.at)];
  const { title, text } = data.msgtype === 'markdown' ? data.markdown : data.actionCard;
  const buttons = data.msgtype === 'actionCard' ? data.actionCard.btns.flatMap(buttonProblems) : [];
  return [
    ...size,
    ...titleProblems(title),
    ...markdownProblems(text, media),
    ...mentionProblems(text, data.at),
    ...buttons,
  ];
}

const cardKeys = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => [`actionTitle${index + 1}`, `actionURL${index + 1}`]).flat();
/** Parameters by template: https://open.dingtalk.com/document/orgapp/types-of-messages-sent-by-robots (snapshot 2026-08-22). */
const templates: Readonly<Record<string, readonly string[]>> = {
  sampleText: ['content'],
  sampleMarkdown: ['title', 'text'],
  sampleActionCard: ['title', 'text', 'singleTitle', 'singleURL'],
  ...Object.fromEntries(
    [2, 3, 4, 5].map((count) => [`sampleActionCard${count}`, ['title', 'text', ...cardKeys(count)]]),
  ),
};

/** What is wrong with a message of the OpenAPI. */
export function parameterProblems(msgKey: string, msgParam: string, media: Media = none): string[] {
  const names = templates[msgKey];
  if (names === undefined) return [`no template ${msgKey}`];
  const parameters = z.record(z.string(), z.string()).safeParse(JSON.parse(msgParam)).data ?? {};
  const given = Object.keys(parameters).sort();
  if (given.join() !== [...names].sort().join()) return [`${msgKey} with ${given.join()}`];
  const size = bytes(msgParam) > parameterBytes ? [`${bytes(msgParam)} bytes`] : [];
  if (msgKey === 'sampleText') return size;
  const text = markdownProblems(parameters['text'] ?? '', media);
  const numbers = [1, 2, 3, 4, 5].filter((number) => parameters[`actionTitle${number}`] !== undefined);
  const several = numbers.map((number) => ({
    title: parameters[`actionTitle${number}`] ?? '',
    actionURL: parameters[`actionURL${number}`] ?? '',
  }));
  const { singleTitle, singleURL } = parameters;
  const buttons = singleTitle === undefined ? several : [{ title: singleTitle, actionURL: singleURL ?? '' }];
  return [...size, ...titleProblems(parameters['title'] ?? ''), ...text, ...buttons.flatMap(buttonProblems)];
}
