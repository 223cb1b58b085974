import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Adapter } from '../../adapters/adapter.ts';
import {
  type ConversationId,
  decodeConversationId,
  encodeConversationId,
  type IncomingMessage,
} from '../../src/message.ts';
import { extremeReplies, goldenReplies } from './golden-replies.ts';

export interface AdapterContractOptions<Payload> {
  readonly name: string;
  /** A fresh adapter on loopback services, and how to put those away. */
  readonly open: () => Promise<{ readonly adapter: Adapter<Payload>; close(): Promise<void> }>;
  /** Messages as the adapter's own `receive` makes them from recorded events. */
  readonly received: () => readonly IncomingMessage[] | Promise<readonly IncomingMessage[]>;
  /** What the platform would find wrong with a payload; empty when nothing. */
  readonly problems: (payload: Payload) => readonly string[];
  /** All text that a person sees of a payload. */
  readonly textOf: (payload: Payload) => string;
}

/** What every adapter has to keep, whatever its platform. */
export function adapterContract<Payload>(options: AdapterContractOptions<Payload>): void {
  const { name } = options;
  const withAdapter = async <T>(use: (adapter: Adapter<Payload>) => T | Promise<T>): Promise<T> => {
    const { adapter, close } = await options.open();
    try {
      return await use(adapter);
    } finally {
      await close();
    }
  };

  describe(`adapter contract: ${name}`, () => {
    test('is called what its folder is called and states sane capabilities', async () => {
      await withAdapter(({ name: own, capabilities }) => {
        expect(own).toBe(name);
        expect(capabilities.maximumBytes).toBeGreaterThan(1_000);
        expect(Object.values(capabilities)).toHaveLength(5);
      });
    });

    test('conversation ids survive the round trip, whatever the parts hold', () => {
      const part = fc.string({ unit: 'grapheme', maxLength: 60 });
      fc.assert(
        fc.property(part, part, part, (tenant, channel, thread) => {
          const parts = { adapter: name, tenant, channel, thread };
          const id: ConversationId = encodeConversationId(parts);
          expect(decodeConversationId(id)).toEqual(parts);
          expect(id.startsWith(`${name}:`)).toBe(true);
        }),
      );
    });

    test('received messages carry ids of this adapter', async () => {
      const messages = await options.received();
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) {
        expect(decodeConversationId(message.conversationId).adapter).toBe(name);
        expect(message.userId.startsWith(`${name}:`)).toBe(true);
        expect(message.messageId.startsWith(`${name}:`)).toBe(true);
        expect(message.text.isWellFormed()).toBe(true);
      }
    });

    test('every kind of reply is rendered within the limits, the verdict in it', async () => {
      await withAdapter((adapter) => {
        for (const reply of goldenReplies()) {
          const payload = adapter.render(reply);
          expect(options.problems(payload)).toEqual([]);
          expect(bytesOf(payload)).toBeLessThanOrEqual(adapter.capabilities.maximumBytes);
          const [verdict = ''] = reply.fallback.split('\n');
          expect(visible(options.textOf(payload))).toContain(visible(verdict).slice(0, 12));
        }
      });
    });

    test('extreme replies are cut, not refused', async () => {
      await withAdapter((adapter) => {
        for (const reply of extremeReplies()) {
          const payload = adapter.render(reply);
          expect(options.problems(payload)).toEqual([]);
          expect(bytesOf(payload)).toBeLessThanOrEqual(adapter.capabilities.maximumBytes);
        }
      });
    });

    test('rendering is a function of the reply alone', async () => {
      await withAdapter((adapter) => {
        for (const reply of goldenReplies().slice(0, 6)) {
          expect(adapter.render(reply)).toEqual(adapter.render(structuredClone(reply)));
        }
      });
    });

    test('starts, stops, and stops again', async () => {
      await withAdapter(async (adapter) => {
        await adapter.start();
        expect(['connected', 'connecting']).toContain(adapter.status());
        await adapter.stop();
        expect(adapter.status()).toBe('stopped');
        await adapter.stop();
        expect(adapter.status()).toBe('stopped');
      });
    });

    test('a check answers with lines', async () => {
      await withAdapter(async (adapter) => {
        for (const line of await adapter.check()) expect(typeof line).toBe('string');
      });
    });
  });
}

function bytesOf(payload: unknown): number {
  return Buffer.byteLength(typeof payload === 'string' ? payload : JSON.stringify(payload));
}

/** Letters and digits only: escaping and wrapping differ by platform. */
function visible(text: string): string {
  return text.replace(/&(amp|lt|gt);/g, '').replace(/[^\p{L}\p{N}]/gu, '');
}
