import { z } from 'zod';

/** The choices of the last answer, by number; after a question a bare number is the answer to it. */
export const offered = z.object({
  question: z.boolean(),
  says: z.array(z.string()),
  estimateCode: z.string().optional(),
});
type Offered = z.infer<typeof offered>;

const bareNumber = /^([#＃]?)\s*(\d{1,2})$/u;
export const isNumber = (text: string): boolean => bareNumber.test(text.normalize('NFKC'));

export function chosenSay(text: string, { question, says }: Offered): string | undefined {
  const [, mark, number] = bareNumber.exec(text.normalize('NFKC')) ?? [];
  return number === undefined || (question && mark === '') ? undefined : says[Number(number) - 1];
}
