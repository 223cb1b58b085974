import { z } from 'zod';
import limitsFile from '../fixtures/slack-block-kit/limits.json' with { type: 'json' };
import { contextElements, inputElements, messageOnly, modalOnly, sizeRules } from './block-kit-rules.ts';

const limits: unknown = limitsFile;
const Limit = z.object({
  min_length: z.number().optional(),
  max_length: z.number().optional(),
  item_max_length: z.number().optional(),
  min_items: z.number().optional(),
  max_items: z.number().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  exclusive_min: z.number().optional(),
});
type Limit = z.infer<typeof Limit>;
const Node = z.record(z.string(), z.unknown());
type Node = z.infer<typeof Node>;

const asNode = (value: unknown): Node | undefined =>
  Array.isArray(value) ? undefined : (Node.safeParse(value).data ?? undefined);
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Slack counts characters, not UTF-16 units. */
const length = (text: string): number => [...text].length;

function at(value: unknown, path: string): unknown[] {
  const [head, ...rest] = path.split('.');
  if (head === undefined || head === '') return value === undefined ? [] : [value];
  const children = head === '*' ? asList(value) : [asNode(value)?.[head]];
  return children.filter((child) => child !== undefined).flatMap((child) => at(child, rest.join('.')));
}

const limitAt = (path: string): Limit => Limit.parse(at(limits, path)[0]);

/** What of `limit` the value breaks, as `<limit>.<bound>`. */
function broken(value: unknown, path: string): string[] {
  const limit = limitAt(path);
  const found: string[] = [];
  const check = (bad: boolean, bound: keyof Limit): void => void (bad && found.push(`${path}.${bound}`));
  if (typeof value === 'string') {
    check(length(value) < (limit.min_length ?? 0), 'min_length');
    check(length(value) > (limit.max_length ?? Infinity), 'max_length');
  }
  if (Array.isArray(value)) {
    check(value.length < (limit.min_items ?? 0), 'min_items');
    check(value.length > (limit.max_items ?? Infinity), 'max_items');
  }
  if (typeof value === 'number') {
    check(value < (limit.min ?? -Infinity), 'min');
    check(value > (limit.max ?? Infinity), 'max');
    check(value <= (limit.exclusive_min ?? -Infinity), 'exclusive_min');
  }
  return found;
}

const textOf = (value: unknown): string => {
  const text = asNode(value)?.['text'];
  return typeof text === 'string' ? text : '';
};

function optionProblems(node: Node): string[] {
  const options = [
    ...asList(node['options']),
    ...asList(node['option_groups']).flatMap((group) => asList(asNode(group)?.['options'])),
  ];
  const groups = asList(node['option_groups']);
  return [
    ...options.flatMap((option) => checkOption(option)),
    ...groups.flatMap((group) => checkOptionGroup(group)),
    ...(node['options'] !== undefined && node['option_groups'] !== undefined ? ['static_select.choice_source'] : []),
  ];
}

export function checkOption(option: unknown): string[] {
  const node = asNode(option) ?? {};
  return [
    ...broken(textOf(node['text']), 'option.text'),
    ...broken(node['value'], 'option.value'),
    ...broken(node['url'], 'option.url'),
    ...broken(textOf(node['description']), 'option.description'),
  ];
}

export function checkOptionGroup(group: unknown): string[] {
  const node = asNode(group) ?? {};
  return [...broken(textOf(node['label']), 'option_group.label'), ...broken(node['options'], 'option_group.options')];
}

export function checkConfirmation(dialog: unknown): string[] {
  return ['title', 'text', 'confirm', 'deny'].flatMap((name) =>
    broken(textOf(asNode(dialog)?.[name]), `confirmation.${name}`),
  );
}

function tableProblems(node: Node): string[] {
  const rows = asList(node['rows']).map((row) => asList(row).length);
  const columns = rows[0] ?? 0;
  const settings = asList(node['column_settings']).length;
  const cells = JSON.stringify(at(node, 'rows.*.*.text')).length;
  return [
    ...(rows.length > 100 ? ['table.rows.max_items'] : []),
    ...(rows.some((count) => count !== columns) || columns > 20 ? ['table.row_shape'] : []),
    ...(settings > 0 && settings !== columns ? ['table.column_settings'] : []),
    ...(at(node, 'rows.*.*').some((cell) => asNode(cell)?.['type'] === 'raw_text' && textOf(cell) === '')
      ? ['table.cell_text.min_length']
      : []),
    ...(cells > 10_000 ? ['table.content.max_length'] : []),
  ];
}

const special: Readonly<Record<string, (node: Node) => string[]>> = {
  section: (node) => [
    ...(node['text'] === undefined && node['fields'] === undefined ? ['section.content'] : []),
    ...asList(node['fields']).flatMap((field) =>
      length(textOf(field)) > (limitAt('section.fields').item_max_length ?? 0)
        ? ['section.fields.item_max_length']
        : [],
    ),
  ],
  table: tableProblems,
  data_table: (node) =>
    at(node, 'rows.*.*.text').join('').length > (limitAt('data_table.content').max_length ?? 0)
      ? ['data_table.content.max_length']
      : [],
  image: (node) => ((node['image_url'] !== undefined) === (node['slack_file'] !== undefined) ? ['image.source'] : []),
  number_input: (node) =>
    Number(node['min_value'] ?? -Infinity) > Number(node['max_value'] ?? Infinity) ? ['number_input.range'] : [],
  context: (node) =>
    asList(node['elements']).every((one) => contextElements.test(String(asNode(one)?.['type'])))
      ? []
      : ['context.elements'],
  input: (node) => (inputElements.test(String(asNode(node['element'])?.['type'])) ? [] : ['input.element']),
  rich_text_section: (node) => emptyTexts(node),
  rich_text_preformatted: (node) => emptyTexts(node),
};

const emptyTexts = (node: Node): string[] =>
  asList(node['elements']).some((one) => asNode(one)?.['type'] === 'text' && textOf(one) === '')
    ? ['rich_text.text.min_length']
    : [];

function ownProblems(node: Node): string[] {
  const type = String(node['type']);
  const rules = sizeRules[type] ?? [];
  return [
    ...rules.flatMap(([path, limit]) => at(node, path).flatMap((value) => broken(value, limit))),
    ...broken(node['action_id'], 'action_id'),
    ...broken(node['block_id'], 'block_id'),
    ...(special[type]?.(node) ?? []),
    ...optionProblems(node),
    ...(node['confirm'] !== undefined && type !== 'undefined' ? checkConfirmation(node['confirm']) : []),
    ...('chart' in node && asNode(node['chart'])?.['type'] !== 'pie'
      ? at(node, 'chart.series').length === 0
        ? ['data_visualization.series.min_items']
        : []
      : []),
  ];
}

/** Everything that breaks a rule in a block, element, composition object, view or message; by constraint name. */
export function blockKitProblems(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(blockKitProblems);
  const node = asNode(value);
  if (node === undefined) return [];
  return [...(node['type'] === undefined ? [] : ownProblems(node)), ...Object.values(node).flatMap(blockKitProblems)];
}

const typeOf = (block: unknown): string => String(asNode(block)?.['type']);

function repeated(ids: readonly unknown[], what: string): string[] {
  const given = ids.filter((id) => id !== undefined);
  return new Set(given).size === given.length ? [] : [`${what}.unique`];
}

function actionIds(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(actionIds);
  const node = asNode(value);
  return node === undefined ? [] : [node['action_id'], ...Object.values(node).flatMap(actionIds)];
}

const onlyOne = (blocks: readonly unknown[]): string[] =>
  blocks.filter((block) => /^(data_)?table$/u.test(typeOf(block))).length > 1 ? ['table.only_one'] : [];

/** Rules of a whole message that `limits.json` leaves out: see its README. */
export function messageProblems(message: { readonly text?: unknown; readonly blocks?: unknown }): string[] {
  const blocks = asList(message.blocks);
  const text = typeof message.text === 'string' ? message.text : '';
  return [
    ...blockKitProblems(blocks),
    ...(blocks.length > 50 ? ['message.blocks.max_items'] : []),
    ...(JSON.stringify(blocks).length > 13_200 ? ['msg_blocks_too_long'] : []),
    ...onlyOne(blocks),
    ...blocks.flatMap((block) => (modalOnly.has(typeOf(block)) ? [`${typeOf(block)}.surface`] : [])),
    ...repeated(
      blocks.map((block) => asNode(block)?.['block_id']),
      'block_id',
    ),
    ...repeated(actionIds(blocks), 'action_id'),
    ...(text.trim() === '' ? ['message.text.min_length'] : []),
    ...(Buffer.byteLength(text) > 4_000 ? ['message.text.max_length'] : []),
    ...(/[<>]|&(?!(amp|lt|gt);)/u.test(text) ? ['message.text.escaping'] : []),
  ];
}

/** Rules of a modal or a home tab. */
export function viewProblems(view: unknown): string[] {
  const blocks = asList(asNode(view)?.['blocks']);
  return [
    ...blockKitProblems(view),
    ...blocks.flatMap((block) => (messageOnly.has(typeOf(block)) ? [`${typeOf(block)}.surface`] : [])),
    ...repeated(
      blocks.map((block) => asNode(block)?.['block_id']),
      'block_id',
    ),
  ];
}
