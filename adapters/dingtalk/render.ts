import type { Block, Choice, Reply } from '../../src/reply/reply.ts';
import type { SurfaceTexts } from '../adapter.ts';
import { squareOf } from '../chart.ts';
import { type ChoiceButton, choiceButtons } from '../controls.ts';
import { filledBlocks, isShown, layOut } from '../layout.ts';
import type { Bar, Picture } from '../pictures.ts';
import { clip, clipBytes, oneLine } from '../text.ts';
import { dingtalkLimits, escapeMarkdown } from './limits.ts';

export interface Button {
  readonly title: string;
  readonly actionURL: string;
}

/** One outgoing message, before it is put into the shape of the way it takes. */
export interface DingtalkMessage {
  /** What notifications and the list of chats show: the verdict. */
  readonly title: string;
  /** The platform's Markdown. */
  readonly text: string;
  readonly buttons: readonly Button[];
  /** Without any mark-up, for when the platform refuses the content. */
  readonly plain: string;
}

export interface Place {
  readonly isGroup: boolean;
  /** Uploaded picture of one bar of the answer. */
  readonly picture?: Picture | undefined;
}

const gib = 1024 ** 3;
const lineBreak = '  \n';
const separator = '\n\n';

/** Reply → one message within the limits: what does not fit the byte cap is left out from the end, behind "details". */
export function renderReply(reply: Reply, { isGroup, picture }: Place, texts: SurfaceTexts): DingtalkMessage {
  const [verdict = ''] = reply.fallback.split('\n');
  const buttons = choiceButtons(reply.choices.filter(isSafe), dingtalkLimits).buttons.map(buttonOf);
  const closing = joined([choiceLines(reply, isGroup, texts), codeLine(reply)]);
  const spent =
    Buffer.byteLength(closing) + Buffer.byteLength(JSON.stringify(buttons)) + dingtalkLimits.titleCharacters * 4;
  return {
    title: clip(oneLine(verdict), dingtalkLimits.titleCharacters) || 'GPU',
    text: joined([bodyOf(reply, dingtalkLimits.messageBytes - spent, picture), closing]),
    buttons,
    plain: clipBytes(reply.fallback, dingtalkLimits.plainBytes / 2),
  };
}

const shown = (reply: Reply): readonly Block[] => filledBlocks(reply).filter((block) => isShown(reply, block));

/** The bar that a picture can show. */
export const pictured = (reply: Reply): Bar | undefined =>
  shown(reply).find((block): block is Bar => block.kind === 'bar');

/** Blocks in order while they fit. JSON doubles quotes and backslashes, so the JSON form is measured. */
function bodyOf(reply: Reply, room: number, picture: Picture | undefined): string {
  const { main } = layOut(reply, {
    write: (block) => [markdownOf(block, picture)],
    message: { parts: Number.POSITIVE_INFINITY, size: room },
    sizeOf: (texts) => Buffer.byteLength(JSON.stringify(texts)) + separator.length * 2,
  });
  if (main.length > 0) return joined(main);
  return clipBytes(escapeMarkdown(reply.fallback), room / 2).replaceAll('\n', lineBreak);
}

function markdownOf(block: Block, picture: Picture | undefined): string {
  switch (block.kind) {
    case 'verdict':
      return bold(block.text);
    case 'text':
      return lines(block.text);
    case 'note':
      return `> ${escaped(block.text)}`;
    case 'list':
      return titled(block.title, block.items.map(bullet));
    case 'facts':
      return titled(block.title, block.items.map(fact));
    case 'code':
      return titled(block.title, [lines(block.text)]);
    case 'bar':
      return barText(block, picture?.bar === block ? picture.mediaId : undefined);
    case 'tiers':
      return titled(block.title, tierLines(block));
  }
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(separator);
const escaped = (text: string): string => escapeMarkdown(oneLine(text));
const bold = (text: string): string => (text.trim() === '' ? '' : `**${escaped(text)}**`);
const bullet = (text: string): string => `- ${escaped(text)}`;
const fact = ({ label, value }: { label: string; value: string }): string => `- ${bold(label)} ${escaped(value)}`;

const titled = (title: string, items: readonly string[]): string =>
  items.length === 0 ? '' : joined([bold(title), items.join('\n')]);

const lines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => escapeMarkdown(line.trimEnd()))
    .join(lineBreak);

/** With a picture each part carries the square of its colour there. */
function barText({ title, segments, note }: Bar, mediaId: string | undefined): string {
  const square = (index: number): string => (mediaId === undefined ? '' : `${squareOf(index)} `);
  const part = (label: string, bytes: number): string => `${escaped(label)} ${(bytes / gib).toPrecision(2)}`;
  const parts = segments.map(({ label, bytes }, index) => square(index) + part(label, bytes));
  const picture = mediaId === undefined ? '' : `![](${mediaId})${separator}`;
  const line = `${picture}**${escaped(title)}** ${parts.join(' · ')} GiB`;
  return note === '' ? line : `${line}${lineBreak}${escaped(note)}`;
}

/** A table breaks on phones: one item per tier, labels where a bare number would say nothing. */
function tierLines({ rows, columns }: Extract<Block, { kind: 'tiers' }>): string[] {
  return rows.map(({ tier, instance, gpu, recommended, ...row }) => {
    const time = isFigure(row.secondsPerStep) ? `${row.secondsPerStep} ${columns.secondsPerStep}` : '';
    const cost = isFigure(row.costPerThousand) ? `${columns.costPerThousand} ${row.costPerThousand}` : '';
    const price = isFigure(row.price) ? row.price : '';
    const rest = [row.result, price, time, cost, row.note].filter((part) => part !== '');
    const mark = recommended ? '✅ ' : '';
    return `- ${mark}${bold(tier)} ${escaped(instance)} ${escaped(gpu)}${lineBreak}${escaped(rest.join(' · '))}`;
  });
}

const isFigure = (text: string): boolean => /\d/u.test(text);

function choiceLines({ choices, kind }: Reply, isGroup: boolean, texts: SurfaceTexts): string {
  if (choices.length === 0) return '';
  const mark = kind === 'question' ? '\\#' : '';
  const items = choices.map(({ label }, index) => `${mark}${index + 1} ${escaped(label)}`);
  return `${isGroup ? texts.pickInGroups : texts.pickByNumber}${lineBreak}${items.join('　')}`;
}

/** By this code a quote of the answer is recognised. */
const codeLine = ({ estimateCode }: Reply): string => (estimateCode === undefined ? '' : `> \\#${estimateCode}`);

/** What a button sends appears as the person's own words, so it has to be plain. */
const isSafe = ({ say }: Choice): boolean => !/[\n\r]|:\/\//u.test(say);

/**
 * `dtmd` links send their content under the tapping person's name; the host must be lower-case. Clients disagree about `+`
 * and `%20`, so blanks and plus signs travel as their full-width forms, which reading folds back.
 */
function buttonOf({ label, value }: ChoiceButton): Button {
  const content = encodeURIComponent(value.replaceAll(' ', '\u3000').replaceAll('+', '\uFF0B'));
  return {
    title: oneLine(label),
    actionURL: `dtmd://dingtalkclient/sendMessage?content=${content}`,
  };
}
