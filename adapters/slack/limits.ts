/**
 * Limits of the platform, in characters unless the name says otherwise; checked 2026-11-30.
 * Blocks and elements: https://docs.slack.dev/reference/block-kit/blocks and
 * https://docs.slack.dev/reference/block-kit/block-elements.
 */
export const slackLimits = {
  messageBlocks: 50,
  viewBlocks: 100,
  /** Over all blocks: undocumented, `msg_blocks_too_long` from about 13,200 (bolt-js issue 2509). */
  messageCharacters: 12_000,
  /** https://docs.slack.dev/reference/methods/chat.update refuses over 4,000 bytes of text. */
  fallbackBytes: 3_800,
  headerText: 150,
  sectionText: 3_000,
  contextElements: 10,
  /** Ours; the other choices are in a menu. */
  buttonsShown: 5,
  buttonText: 75,
  buttonValue: 2_000,
  optionText: 75,
  optionValue: 150,
  selectOptions: 100,
  tableRows: 100,
  viewTitle: 24,
  /** Ours: as much as two messages. */
  viewCharacters: 24_000,
  placeholder: 150,
  /** Ours: what fits a field of the form. */
  inputText: 200,
  suggestedPrompts: 4,
} as const;

/** The three characters with a meaning in Slack's text: https://docs.slack.dev/messaging/formatting-message-text#escaping */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
