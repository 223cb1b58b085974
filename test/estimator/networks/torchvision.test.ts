import { describe } from 'vitest';

import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows } from '../truth.ts';

const scored = scoreRows(truthRows('own-torchvision'));

describe('torchvision beyond the given traces', () => {
  exactToTheByte(scored, 20);
});
