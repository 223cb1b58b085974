import { gib } from './format.ts';
import type { Block, Choice } from './reply.ts';

/** The reply as plain lines, the verdict first: for notifications, logs of scripts and platforms without blocks. */
export function fallbackText(blocks: readonly Block[], choices: readonly Choice[]): string {
  const lines = blocks.filter((block) => block.level === 'main').flatMap(blockLines);
  const says = choices.map(({ label, say }, index) =>
    label === say ? `${index + 1}) ${say}` : `${index + 1}) ${label}: ${say}`,
  );
  return [...lines, ...says].filter((line) => line !== '').join('\n');
}

function blockLines(block: Block): readonly string[] {
  switch (block.kind) {
    case 'verdict':
    case 'text':
    case 'note':
      return [block.text];
    case 'list':
      return [block.title, ...block.items.map((item) => `- ${item}`)];
    case 'facts':
      return [block.title, ...block.items.map(({ label, value }) => `- ${label}: ${value}`)];
    case 'code':
      return [block.title, block.text];
    case 'bar':
      return [
        `${block.title}: ${block.segments.map(({ label, bytes }) => `${label} ${gib(bytes)}`).join(' · ')}`,
        block.note,
      ];
    case 'tiers':
      return block.rows.map((row) =>
        [`${row.tier}${row.recommended ? ' ★' : ''}`, row.instance, row.gpu, row.result, row.price].join(' | '),
      );
  }
}
