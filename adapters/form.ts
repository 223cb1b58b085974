import type { SurfaceTexts } from './adapter.ts';

/** Names of the form's fields. */
const names = ['model', 'size', 'batch', 'budget'] as const;
type FieldName = (typeof names)[number];

export interface FormField {
  readonly name: FieldName;
  readonly label: string;
  /** An example; absent where the label says enough. */
  readonly hint?: string;
  readonly initial?: string;
  readonly isNumber: boolean;
  readonly isOptional: boolean;
}

/** The form by which a first question is asked without knowing how, filled with what is known. */
export function formFields(texts: SurfaceTexts, prefill: Readonly<Record<string, string>>): readonly FormField[] {
  const labels = {
    model: { label: texts.fieldModel, hint: texts.fieldModelHint },
    size: { label: texts.fieldSize, hint: texts.fieldSizeHint },
    batch: { label: texts.fieldBatch },
    budget: { label: texts.fieldBudget, hint: texts.fieldBudgetHint },
  };
  return names.map((name) => {
    const isNumber = name === 'batch';
    const initial = prefill[name];
    const fits = initial && (!isNumber || /^\d+$/u.test(initial));
    return { name, ...labels[name], ...(fits ? { initial } : {}), isNumber, isOptional: name === 'budget' };
  });
}

/** What was typed into the form as one message, or what to correct by field. */
export function readFields(
  typed: (name: FieldName) => string | undefined,
  texts: SurfaceTexts,
): { readonly text: string } | { readonly errors: Readonly<Record<string, string>> } {
  const field = (name: FieldName): string => (typed(name) ?? '').normalize('NFKC').trim();
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
