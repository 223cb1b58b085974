import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { blockKitProblems, checkConfirmation, checkOption, checkOptionGroup } from '../../fakes/block-kit.ts';

const folder = join(import.meta.dirname, '../../fixtures/slack-block-kit');
const read = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'));
const Cases = z.object({ cases: z.array(z.object({ id: z.string(), constraint: z.string() })) });
const { cases } = Cases.parse(read('invalid-cases.json'));
const validFiles = readdirSync(join(folder, 'valid'), { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.json'),
);

const x = (length: number): string => 'x'.repeat(length);
const plain = (text: string) => ({ type: 'plain_text', text });
const option = { text: plain('A'), value: 'A' };
const many = <T>(value: T, count: number): T[] => Array.from({ length: count }, () => value);
const valid = (name: string): Record<string, unknown> =>
  z.record(z.string(), z.unknown()).parse(read(`valid/${name}.json`));

/** The valid example with one place changed. */
function changed(name: string, path: string, value: unknown): unknown {
  const root = valid(name);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let node: object = root;
  for (const key of keys) {
    const next: unknown = Reflect.get(node, key);
    if (typeof next !== 'object' || next === null) throw new Error(`no ${key} in ${name}`);
    node = next;
  }
  Reflect.set(node, last, value);
  return root;
}

const button = 'elements/button_basic';
const confirm = (field: string, length: number) => () =>
  checkConfirmation(changed('objects/confirmation_dialogue_basic', `${field}.text`, x(length)));
const kit = (name: string, path: string, value: unknown) => () => blockKitProblems(changed(name, path, value));
const section = { type: 'section', text: plain('a') };
const card = { type: 'card', title: plain('a') };
const cell = { type: 'raw_text', text: 'a' };
const point = { label: 'a', value: 1 };
const feedback = 'blocks/context_actions_feedback_buttons';
const bar = 'blocks/data_visualization_bar';
const pie = 'blocks/data_visualization_pie';

/** One payload per case of `invalid-cases.json`, which describes them in words only. */
const breaking: Readonly<Record<string, () => string[]>> = {
  'text-empty': kit('objects/text_plaintext_basic', 'text', ''),
  'text-too-long': kit('objects/text_plaintext_basic', 'text', x(3_001)),
  'button-action-id-too-long': kit(button, 'action_id', x(256)),
  'button-text-too-long': kit(button, 'text.text', x(76)),
  'button-url-too-long': kit(button, 'url', x(3_001)),
  'button-value-too-long': kit(button, 'value', x(2_001)),
  'confirmation-title-too-long': confirm('title', 101),
  'confirmation-text-too-long': confirm('text', 301),
  'confirmation-confirm-too-long': confirm('confirm', 31),
  'confirmation-deny-too-long': confirm('deny', 31),
  'option-text-too-long': () => checkOption({ ...option, text: plain(x(76)) }),
  'option-value-too-long': () => checkOption({ ...option, value: x(151) }),
  'option-url-too-long': () => checkOption({ ...option, url: '😀'.repeat(3_001) }),
  'option-description-too-long': () => checkOption({ ...option, description: plain(x(76)) }),
  'option-group-label-too-long': () => checkOptionGroup({ label: plain(x(76)), options: [option] }),
  'option-group-empty': () => checkOptionGroup({ label: plain('a'), options: [] }),
  'option-group-too-many-options': () => checkOptionGroup({ label: plain('a'), options: many(option, 101) }),
  'select-placeholder-too-long': kit('elements/select_menu_static', 'placeholder.text', x(151)),
  'select-too-many-options': kit('elements/select_menu_static', 'options', many(option, 101)),
  'select-too-many-option-groups': kit(
    'elements/select_menu_static',
    'option_groups',
    many({ label: plain('a'), options: [option] }, 101),
  ),
  'overflow-empty': kit('elements/overflow_menu_basic', 'options', []),
  'overflow-too-many-options': kit('elements/overflow_menu_basic', 'options', many(option, 6)),
  'checkboxes-empty': kit('elements/checkbox_basic', 'options', []),
  'checkboxes-too-many-options': kit('elements/checkbox_basic', 'options', many(option, 11)),
  'radio-buttons-empty': kit('elements/radio_button_group_basic', 'options', []),
  'radio-buttons-too-many-options': kit('elements/radio_button_group_basic', 'options', many(option, 11)),
  'url-source-url-empty': kit('elements/url_source_basic', 'url', ''),
  'url-source-url-too-long': kit('elements/url_source_basic', 'url', x(3_001)),
  'table-too-many-rows': kit('blocks/table_block', 'rows', many([cell, cell], 101)),
  'table-ragged-rows': kit('blocks/table_block', 'rows', [[cell, cell], [cell]]),
  'table-column-settings-mismatch': kit('blocks/table_block', 'column_settings', many({ align: 'left' }, 5)),
  'file-input-max-files-too-small': kit('elements/file_input_basic', 'max_files', 0),
  'file-input-max-files-too-large': kit('elements/file_input_basic', 'max_files', 11),
  'plain-text-input-max-length-too-large': kit('elements/plaintext_input_basic', 'max_length', 3_001),
  'actions-too-many-elements': kit('blocks/actions_block_checkboxes', 'elements', many(valid(button), 26)),
  'context-too-many-elements': kit('blocks/context_block_text_only', 'elements', many(plain('a'), 11)),
  'header-text-too-long': kit('blocks/header_block_only', 'text.text', x(151)),
  'image-url-too-long': kit('elements/image_basic', 'image_url', x(3_001)),
  'image-alt-text-too-long': kit('elements/image_basic', 'alt_text', x(2_001)),
  'input-label-too-long': kit('blocks/input_block_only', 'label.text', x(2_001)),
  'input-hint-too-long': kit('blocks/input_block_only', 'hint.text', x(2_001)),
  'markdown-empty': kit('blocks/markdown_block_basic', 'text', ''),
  'markdown-too-long': kit('blocks/markdown_block_basic', 'text', x(12_001)),
  'section-text-too-long': kit('blocks/section_block_text_only', 'text.text', x(3_001)),
  'section-too-many-fields': kit('blocks/section_block_fields', 'fields', many(plain('a'), 11)),
  'section-field-too-long': kit('blocks/section_block_fields', 'fields', [plain(x(2_001))]),
  'video-alt-text-empty': kit('blocks/video_block_full', 'alt_text', ''),
  'video-alt-text-too-long': kit('blocks/video_block_full', 'alt_text', x(201)),
  'video-title-too-long': kit('blocks/video_block_full', 'title.text', x(201)),
  'video-author-name-too-long': kit('blocks/video_block_full', 'author_name', x(51)),
  'video-description-too-long': kit('blocks/video_block_full', 'description.text', x(201)),
  'video-provider-name-too-long': kit('blocks/video_block_full', 'provider_name', x(51)),
  'view-missing-blocks': kit('views/modal_with_blocks', 'blocks', []),
  'view-too-many-blocks': kit('views/modal_with_blocks', 'blocks', many(section, 101)),
  'view-private-metadata-too-long': kit('views/modal_with_blocks', 'private_metadata', x(3_001)),
  'view-callback-id-too-long': kit('views/modal_with_blocks', 'callback_id', x(256)),
  'view-title-too-long': kit('views/modal_with_blocks', 'title.text', x(25)),
  'view-close-too-long': kit('views/modal_with_blocks', 'close.text', x(25)),
  'view-submit-too-long': kit('views/modal_with_blocks', 'submit.text', x(25)),
  'section-missing-content': () => blockKitProblems({ type: 'section' }),
  'static-select-options-and-groups': kit('elements/select_menu_static', 'option_groups', [
    { label: plain('a'), options: [option] },
  ]),
  'image-url-and-slack-file': kit('elements/image_basic', 'slack_file', { id: 'F1' }),
  'number-input-inverted-range': () =>
    blockKitProblems({ ...valid('elements/number_input_basic'), min_value: '9', max_value: '1' }),
  'context-invalid-element': kit('blocks/context_block_text_only', 'elements', [valid(button)]),
  'input-invalid-element': kit('blocks/input_block_only', 'element', valid(button)),
  'block-id-too-long': kit('blocks/divider_block_only', 'block_id', x(256)),
  'button-accessibility-label-too-long': kit(button, 'accessibility_label', x(76)),
  'alert-text-too-long': kit('blocks/alert_block', 'text.text', x(201)),
  'card-title-too-long': kit('blocks/card_block', 'title.text', x(151)),
  'card-subtitle-too-long': kit('blocks/card_block', 'subtitle.text', x(151)),
  'card-body-too-long': kit('blocks/card_block', 'body.text', x(201)),
  'card-too-many-actions': kit('blocks/card_block', 'actions', many(valid(button), 4)),
  'card-subtext-too-long': kit('blocks/card_block', 'subtext', plain(x(201))),
  'carousel-empty': kit('blocks/carousel_block', 'elements', []),
  'carousel-too-many-cards': kit('blocks/carousel_block', 'elements', many(card, 11)),
  'container-title-too-long': kit('blocks/container_block', 'title.text', x(151)),
  'container-subtitle-too-long': kit('blocks/container_block', 'subtitle.text', x(151)),
  'container-too-many-child-blocks': kit('blocks/container_block', 'child_blocks', many(section, 11)),
  'context-actions-too-many-elements': kit(
    'blocks/context_actions_icon_button',
    'elements',
    many({ type: 'icon_button', icon: 'trash' }, 6),
  ),
  'feedback-button-text-too-long': kit(feedback, 'elements.0.positive_button.text.text', x(76)),
  'feedback-button-value-too-long': kit(feedback, 'elements.0.negative_button.value', x(2_001)),
  'feedback-button-accessibility-label-too-long': kit(
    feedback,
    'elements.0.negative_button.accessibility_label',
    x(76),
  ),
  'icon-button-too-many-visible-users': kit(
    'blocks/context_actions_icon_button',
    'elements.0.visible_to_user_ids',
    many('U1', 11),
  ),
  'data-table-too-few-rows': kit('blocks/data_table_block', 'rows', [[cell]]),
  'data-table-too-many-rows': kit('blocks/data_table_block', 'rows', many([cell], 202)),
  'data-table-too-few-columns': kit('blocks/data_table_block', 'rows', [[], []]),
  'data-table-too-many-columns': kit('blocks/data_table_block', 'rows', many(many(cell, 21), 2)),
  'data-table-page-size-too-small': kit('blocks/data_table_block', 'page_size', 0),
  'data-table-page-size-too-large': kit('blocks/data_table_block', 'page_size', 101),
  'data-table-cell-text-empty': kit('blocks/data_table_block', 'rows', [[cell], [{ type: 'raw_text', text: '' }]]),
  'data-table-content-too-long': kit(
    'blocks/data_table_block',
    'rows',
    many([{ type: 'raw_text', text: x(10_001) }], 2),
  ),
  'data-visualization-title-too-long': kit(bar, 'title', x(51)),
  'pie-chart-empty': kit(pie, 'chart.segments', []),
  'pie-chart-too-many-segments': kit(pie, 'chart.segments', many(point, 13)),
  'chart-segment-label-too-long': kit(pie, 'chart.segments', [{ label: x(21), value: 1 }]),
  'chart-segment-value-not-positive': kit(pie, 'chart.segments', [{ label: 'a', value: 0 }]),
  'chart-series-empty': kit(bar, 'chart.series', []),
  'chart-too-many-series': kit(bar, 'chart.series', many({ name: 'a', data: [point] }, 13)),
  'data-series-name-too-long': kit(bar, 'chart.series.0.name', x(21)),
  'data-series-empty': kit(bar, 'chart.series.0.data', []),
  'data-series-too-many-points': kit(bar, 'chart.series.0.data', many(point, 21)),
  'data-point-label-too-long': kit(bar, 'chart.series.0.data', [{ label: x(21), value: 1 }]),
  'axis-categories-empty': kit(bar, 'chart.axis_config.categories', []),
  'axis-too-many-categories': kit(bar, 'chart.axis_config.categories', many('a', 21)),
  'axis-category-label-too-long': kit(bar, 'chart.axis_config.categories', [x(21)]),
  'axis-label-too-long': kit(bar, 'chart.axis_config.x_label', x(51)),
};

describe('the validator for outgoing messages', () => {
  test.each(validFiles)('accepts valid/%s', (file) => {
    const value = read(`valid/${file}`);
    const problems = file.startsWith('objects/option_group')
      ? checkOptionGroup(value)
      : file.startsWith('objects/option')
        ? checkOption(value)
        : blockKitProblems(value);
    expect(problems).toEqual([]);
  });

  test.each(cases)('rejects $id for $constraint', ({ id, constraint }) => {
    expect(breaking[id]?.()).toContain(constraint);
  });

  test('has 100 valid examples and every invalid case', () => {
    expect(validFiles.length).toBe(100);
    expect(Object.keys(breaking).sort()).toEqual(cases.map(({ id }) => id).sort());
  });
});
