/** Where each limit of `slack-block-kit/limits.json` applies: type of the node → [path in the node, path in the limits]. */
export type SizeRule = readonly [path: string, limit: string];

const selectRules: readonly SizeRule[] = [
  ['placeholder.text', 'select.placeholder'],
  ['options', 'select.options'],
  ['option_groups', 'select.option_groups'],
];
const inputRules: readonly SizeRule[] = [['placeholder.text', 'select.placeholder']];

/** Rules by `type`; the same names in every surface. */
export const sizeRules: Readonly<Record<string, readonly SizeRule[]>> = {
  plain_text: [['text', 'text']],
  mrkdwn: [['text', 'text']],
  button: [
    ['text.text', 'button.text'],
    ['url', 'button.url'],
    ['value', 'button.value'],
    ['accessibility_label', 'button.accessibility_label'],
  ],
  static_select: selectRules,
  external_select: selectRules,
  users_select: selectRules,
  conversations_select: selectRules,
  channels_select: selectRules,
  multi_static_select: selectRules,
  multi_external_select: selectRules,
  multi_users_select: selectRules,
  multi_conversations_select: selectRules,
  multi_channels_select: selectRules,
  overflow: [['options', 'overflow.options']],
  checkboxes: [['options', 'checkboxes.options']],
  radio_buttons: [['options', 'radio_buttons.options']],
  url: [['url', 'url_source.url']],
  file_input: [['max_files', 'file_input.max_files']],
  plain_text_input: [['max_length', 'plain_text_input.max_length'], ...inputRules],
  number_input: inputRules,
  email_text_input: inputRules,
  url_text_input: inputRules,
  actions: [['elements', 'actions.elements']],
  alert: [['text.text', 'alert.text']],
  card: [
    ['title.text', 'card.title'],
    ['subtitle.text', 'card.subtitle'],
    ['body.text', 'card.body'],
    ['actions', 'card.actions'],
    ['subtext.text', 'card.subtext'],
  ],
  carousel: [['elements', 'carousel.elements']],
  container: [
    ['title.text', 'container.title'],
    ['subtitle.text', 'container.subtitle'],
    ['child_blocks', 'container.child_blocks'],
  ],
  context: [['elements', 'context.elements']],
  context_actions: [['elements', 'context_actions.elements']],
  icon_button: [['visible_to_user_ids', 'icon_button.visible_to_user_ids']],
  feedback_buttons: ['positive_button', 'negative_button'].flatMap((button): SizeRule[] => [
    [`${button}.text.text`, 'feedback_button.text'],
    [`${button}.value`, 'feedback_button.value'],
    [`${button}.accessibility_label`, 'feedback_button.accessibility_label'],
  ]),
  data_table: [
    ['rows', 'data_table.rows'],
    ['rows.*', 'data_table.columns'],
    ['page_size', 'data_table.page_size'],
    ['rows.*.*.text', 'data_table.cell_text'],
  ],
  data_visualization: [
    ['title', 'data_visualization.title'],
    ['chart.segments', 'data_visualization.segments'],
    ['chart.segments.*.label', 'data_visualization.segment.label'],
    ['chart.segments.*.value', 'data_visualization.segment.value'],
    ['chart.series', 'data_visualization.series'],
    ['chart.series.*.name', 'data_visualization.series_name'],
    ['chart.series.*.data', 'data_visualization.data'],
    ['chart.series.*.data.*.label', 'data_visualization.point_label'],
    ['chart.axis_config.categories', 'data_visualization.categories'],
    ['chart.axis_config.categories.*', 'data_visualization.category_label'],
    ['chart.axis_config.x_label', 'data_visualization.axis_label'],
    ['chart.axis_config.y_label', 'data_visualization.axis_label'],
  ],
  header: [['text.text', 'header.text']],
  image: [
    ['image_url', 'image.image_url'],
    ['alt_text', 'image.alt_text'],
  ],
  input: [
    ['label.text', 'input.label'],
    ['hint.text', 'input.hint'],
  ],
  markdown: [['text', 'markdown.text']],
  section: [
    ['text.text', 'section.text'],
    ['fields', 'section.fields'],
  ],
  video: [
    ['alt_text', 'video.alt_text'],
    ['title.text', 'video.title'],
    ['author_name', 'video.author_name'],
    ['description.text', 'video.description'],
    ['provider_name', 'video.provider_name'],
  ],
  modal: ['blocks', 'private_metadata', 'callback_id']
    .map((name): SizeRule => [name, `view.${name}`])
    .concat(['title', 'close', 'submit'].map((name): SizeRule => [`${name}.text`, `view.${name}`])),
  home: ['blocks', 'private_metadata', 'callback_id'].map((name): SizeRule => [name, `view.${name}`]),
};

/** Elements that an input block may hold and those that stand in a context block. */
export const inputElements =
  /^(plain_text_input|number_input|email_text_input|url_text_input|rich_text_input|file_input|checkboxes|radio_buttons|datepicker|datetimepicker|timepicker|(multi_)?\w+_select)$/u;
export const contextElements = /^(plain_text|mrkdwn|image)$/u;

/** Blocks that a surface takes, where it is not every block. */
export const messageOnly = new Set([
  'table',
  'markdown',
  'context_actions',
  'data_table',
  'data_visualization',
  'task_card',
  'plan',
]);
export const modalOnly = new Set(['alert']);
