import type { types } from '@slack/bolt';
import { z } from 'zod';
import type { RecentEstimate, SurfaceTexts } from '../adapter.ts';
import { clip } from '../text.ts';
import { paragraph, plain } from './blocks.ts';
import { slackLimits } from './limits.ts';
import type { SlackAddress } from './receive.ts';

const title = (text: string) => plain(clip(text, slackLimits.viewTitle));
const header = (text: string): types.HeaderBlock => ({
  type: 'header',
  text: plain(clip(text, slackLimits.headerText)),
});

type Fields = Readonly<Record<string, string>>;
const limits = { max_length: 200 };

/** The form behind an empty command, the shortcut and the home button, filled with what is known. */
export function formView(texts: SurfaceTexts, prefill: Fields, address: SlackAddress): types.ModalView {
  const initial = (name: string) => (prefill[name] ? { initial_value: clip(prefill[name], limits.max_length) } : {});
  const hint = (text: string) => ({ placeholder: plain(clip(text, 150)) });
  const input = (name: string, label: string, element: types.InputBlock['element']): types.InputBlock => ({
    type: 'input',
    block_id: name,
    label: plain(label),
    element,
    optional: name === 'budget',
  });
  const typed = (name: string, example: string): types.PlainTextInput => ({
    type: 'plain_text_input',
    action_id: 'value',
    ...limits,
    ...hint(example),
    ...initial(name),
  });
  const batch = /^\d+$/u.test(prefill['batch'] ?? '') ? initial('batch') : {};
  return {
    type: 'modal',
    callback_id: 'gpu_size_form',
    private_metadata: JSON.stringify(address),
    title: title(texts.formTitle),
    submit: title(texts.formSubmit),
    close: title(texts.formCancel),
    blocks: [
      input('model', texts.fieldModel, typed('model', texts.fieldModelHint)),
      input('size', texts.fieldSize, typed('size', texts.fieldSizeHint)),
      input('batch', texts.fieldBatch, {
        type: 'number_input',
        action_id: 'value',
        is_decimal_allowed: false,
        min_value: '1',
        ...batch,
      }),
      input('budget', texts.fieldBudget, typed('budget', texts.fieldBudgetHint)),
    ],
  };
}

const stateSchema = z.record(z.string(), z.looseObject({ value: z.looseObject({ value: z.string().nullish() }) }));

/** What was typed into the form as one message, or what to correct by block. */
export function readForm(values: unknown, texts: SurfaceTexts): { text: string } | { errors: Record<string, string> } {
  const state = stateSchema.safeParse(values).data ?? {};
  const field = (name: string): string => (state[name]?.value.value ?? '').normalize('NFKC').trim();
  const [model, size, batch, budget] = [field('model'), field('size'), field('batch'), field('budget')];
  const sides = size.match(/\d+/gu)?.map(Number) ?? [];
  const errors: Record<string, string> = {};
  if (!/\p{L}/u.test(model)) errors['model'] = `${texts.fieldInvalid} ${texts.fieldModelHint}`;
  if (sides.length === 0 || sides.length > 2 || sides.some((side) => side < 16 || side > 20_000)) {
    errors['size'] = `${texts.fieldInvalid} ${texts.fieldSizeHint}`;
  }
  if (!/^[1-9]\d{0,4}$/u.test(batch)) errors['batch'] = texts.fieldInvalid;
  if (budget !== '' && !/[\d一二两三四五六七八九十百千万]|^(no|none|any|无|不限|没有)/iu.test(budget)) {
    errors['budget'] = `${texts.fieldInvalid} ${texts.fieldBudgetHint}`;
  }
  if (Object.keys(errors).length > 0) return { errors };
  const money = budget === '' ? '' : `, ${/\p{sc=Han}/u.test(budget + model) ? '预算' : 'budget'} ${budget}`;
  return {
    text: `${model} ${sides.length === 1 ? `${sides[0]}x${sides[0]}` : sides.join('x')} batch ${batch}${money}`,
  };
}

/** Content behind the details button. */
export const detailsView = (texts: SurfaceTexts, blocks: readonly unknown[]) => ({
  type: 'modal',
  title: title(texts.details),
  close: title(texts.formCancel),
  blocks,
});

/** What it does, one button, and this person's recent estimates. */
export function homeView(texts: SurfaceTexts, recent: readonly RecentEstimate[]): types.HomeView {
  const open: types.Button = {
    type: 'button',
    action_id: 'open_form',
    text: plain(texts.newEstimate),
    style: 'primary',
  };
  const again = ({ verdict, say, estimateCode }: RecentEstimate): types.SectionBlock => ({
    type: 'section',
    text: plain(clip(verdict || estimateCode, slackLimits.sectionText)),
    ...(say === '' || say.length > slackLimits.buttonValue
      ? {}
      : { accessory: { type: 'button', action_id: 'again', text: plain(estimateCode), value: say } }),
  });
  const known = recent.length === 0 ? [paragraph(texts.homeEmpty)] : recent.slice(0, 20).map(again);
  return {
    type: 'home',
    blocks: [
      header(texts.homeTitle),
      paragraph(texts.homeIntro),
      { type: 'actions', elements: [open] },
      header(texts.homeRecent),
      ...known,
    ],
  };
}
