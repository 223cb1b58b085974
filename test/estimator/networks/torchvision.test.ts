import { describe, expect, test } from 'vitest';

import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows } from '../truth.ts';

const scored = scoreRows(truthRows('own-torchvision'));

describe('torchvision beyond the given traces', () => {
  exactToTheByte(scored, 20);

  test('validation of whole images is exact but for batch norm’s unused statistics', () => {
    const rows = scored.filter(({ figure }) => figure === 'validationPeak');
    expect(rows.length).toBeGreaterThan(2);
    for (const { row, signed } of rows) {
      expect(Math.abs(signed * (row.expect['validationPeak'] ?? 0)), row.id).toBeLessThanOrEqual(4096);
    }
  });
});
