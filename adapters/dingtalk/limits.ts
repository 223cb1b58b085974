/**
 * Limits of the platform; checked 2026-11-30 against open.dingtalk.com (snapshot of 2026-08-22).
 * `messageBytes` is the OpenAPI's limit of a message's parameters (15,000); the session webhook takes about 20,000.
 */
export const dingtalkLimits = {
  messageBytes: 14_000,
  /** Of the plain text that replaces refused content. */
  plainBytes: 4_000,
  /** Shown in the list of chats and in notifications. */
  titleCharacters: 80,
  buttonsShown: 5,
  buttonText: 20,
  /** What a tap sends. */
  buttonValue: 80,
  incomingCharacters: 20_000,
} as const;

const zeroWidthSpace = '\u200B';

/** Plain text inside the platform's Markdown: no marks, tags, links into the client or mentions come out of it. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/[^\P{Cc}\n]/gu, ' ')
    .replace(/[\\`*[\]~|]/gu, '\\$&')
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    .replaceAll('<', '&lt;')
    .replace(/^(\s*)([#>+-]|\d+[.)](?=\s))/gmu, `$1${zeroWidthSpace}$2`)
    .replace(/(dtmd|dingtalk):(?=\/\/)/giu, `$1${zeroWidthSpace}:`)
    .replace(/@(?=所有人|all\b|everyone\b|[\w$])/giu, `@${zeroWidthSpace}`);
}
