import { describe, it } from 'vitest';
import { fuzzConversations } from './fuzzing.ts';

describe('any message', () => {
  it('is read without an exception, 200,000 of them', () => fuzzConversations(200_000));
});
