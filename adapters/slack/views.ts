import type { types } from '@slack/bolt';
import type { RecentEstimate } from '../adapter.ts';
import { againButton, controlNames } from '../controls.ts';
import type { FormField } from '../form.ts';
import type { Details, Form, Home } from '../stage.ts';
import { clip } from '../text.ts';
import { buttonOf, header, paragraph, plain } from './blocks.ts';
import { slackLimits } from './limits.ts';
import type { SlackAddress } from './receive.ts';

const title = (text: string) => plain(clip(text, slackLimits.viewTitle));
function inputOf({ name, label, hint, initial, isNumber, isOptional }: FormField): types.InputBlock {
  const known = initial === undefined ? {} : { initial_value: clip(initial, slackLimits.inputText) };
  const example = hint === undefined ? {} : { placeholder: plain(clip(hint, slackLimits.placeholder)) };
  const common = { action_id: 'value', ...known, ...example };
  const element: types.InputBlock['element'] = isNumber
    ? { type: 'number_input', is_decimal_allowed: false, min_value: '1', ...common }
    : { type: 'plain_text_input', max_length: slackLimits.inputText, ...common };
  return { type: 'input', block_id: name, label: plain(label), element, optional: isOptional };
}

/** The form behind an empty command, the shortcut and the home button, filled with what is known. */
export const formView = ({ texts, fields }: Form, address: SlackAddress): types.ModalView => ({
  type: 'modal',
  callback_id: 'gpu_size_form',
  private_metadata: JSON.stringify(address),
  title: title(texts.formTitle),
  submit: title(texts.formSubmit),
  close: title(texts.formCancel),
  blocks: fields.map(inputOf),
});

/** Content behind the details button. */
export const detailsView = ({ texts, parts: blocks }: Details) => ({
  type: 'modal',
  title: title(texts.details),
  close: title(texts.formCancel),
  blocks,
});

/** What it does, one button, and this person's recent estimates. */
export function homeView({ texts, recent }: Home): types.HomeView {
  const open = buttonOf({ name: controlNames.openForm, label: texts.newEstimate, isPrimary: true });
  const again = (one: RecentEstimate): types.SectionBlock => {
    const button = againButton(one, slackLimits);
    const text = plain(clip(one.verdict || one.estimateCode, slackLimits.sectionText));
    return { type: 'section', text, ...(button && { accessory: buttonOf(button) }) };
  };
  const known = recent.length === 0 ? [paragraph(texts.homeEmpty)] : recent.map(again);
  const actions: types.ActionsBlock = { type: 'actions', elements: [open] };
  const intro = [header(texts.homeTitle), paragraph(texts.homeIntro), actions];
  return { type: 'home', blocks: [...intro, header(texts.homeRecent), ...known] };
}
