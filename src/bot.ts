import type { RecentEstimate } from '../adapters/adapter.ts';
import type { DialogState } from './dialog/dialog-state.ts';
import { AppError } from './errors.ts';
import type { ConversationId, IncomingMessage } from './message.ts';
import { composeProblem } from './reply/compose.ts';
import type { Problem } from './reply/facts.ts';
import type { Reply } from './reply/reply.ts';
import { dialogKey, loadDialog, peekDialog, saveDialog } from './turn/dialog-store.ts';
import { measuredCard, problemOf } from './turn/facts.ts';
import type { BotPorts } from './turn/ports.ts';
import { prefillFields } from './turn/prefill.ts';
import * as records from './turn/records.ts';
import { type DecidedTurn, decideTurn } from './turn/take-turn.ts';

/** Longest message that is read; what people paste (logs, nvidia-smi) is far shorter. */
const MAX_MESSAGE_CHARACTERS = 100_000;
/** How often a turn is decided again when another message of the same conversation was faster. */
const MAX_RACES = 5;

export interface Bot {
  /** Receive to reply. May be called again for the same message after a crash: it then gives the same answer. */
  handle(message: IncomingMessage): Promise<Reply>;
  apologize(message: IncomingMessage, error: AppError): Reply;
  prefill(conversationId: ConversationId): Promise<Readonly<Record<string, string>>>;
  recentEstimates(userId: string, limit: number): Promise<readonly RecentEstimate[]>;
  feedback(userId: string, estimateCode: string, helpful: boolean): Promise<void>;
}

export function createBot(ports: BotPorts): Bot {
  const { store } = ports;
  return {
    handle: (message) => handleMessage(message, ports),
    apologize: (message, error) => composeProblem(message.locale ?? ports.locale, problemOf(error)),
    prefill: async (conversationId) => prefillFields((await peekDialog(store, conversationId))?.slots ?? {}),
    recentEstimates: (userId, limit) => records.listRecent(store, userId, limit),
    feedback: (_userId, code, helpful) => records.keepFeedback(store, code, helpful, ports.now()),
  };
}

/** Receive → understand → decide → compute → write → remember. */
async function handleMessage(message: IncomingMessage, ports: BotPorts): Promise<Reply> {
  const refused = refusal(message, ports);
  if (refused !== null) return composeProblem(message.locale ?? ports.locale, refused);
  for (let race = 0; race < MAX_RACES; race += 1) {
    const { state, version } = await loadDialog(ports.store, message, ports.locale);
    const before = await withQuotedEstimate(state, message, ports);
    const decided = decideTurn(before, message.text, ports);
    if (decided.facts.failure !== undefined) reportFailure(decided.facts.failure, ports);
    const { retentionDays } = ports;
    const now = ports.now();
    const estimate = { message, slots: decided.state.slots, now, retentionDays };
    const code = decided.isEstimate ? await records.keepEstimate(ports.store, estimate) : null;
    const after = { ...decided.state, estimateCode: code ?? decided.state.estimateCode };
    const write = { message, version, before, after, now, retentionDays };
    if (!(await saveDialog(ports.store, write))) continue;
    const reply = decided.compose(code);
    await remember({ message, decided, reply, code }, ports);
    ports.metrics.count('understood', { intent: decided.understanding.intent });
    return reply;
  }
  throw new AppError(
    'store-unavailable',
    `the state ${dialogKey('…')} changed ${MAX_RACES} times while it was written`,
  );
}

function refusal(message: IncomingMessage, ports: BotPorts): Problem | null {
  const decision = ports.limiter.check(message, ports.now());
  if (!decision.allowed) return { code: 'overloaded', details: { seconds: String(decision.retryAfterSeconds) } };
  return message.text.length > MAX_MESSAGE_CHARACTERS ? { code: 'too-large', details: {} } : null;
}

/** The person gets an apology and what was said is kept; the operator gets the error. */
function reportFailure(error: unknown, { logger, metrics }: BotPorts): void {
  metrics.count('errors', { code: 'internal' });
  logger.error({ error, code: 'internal' }, 'turn failed');
}

/** A quoted answer or a pressed button of an older one is what the message is about. */
async function withQuotedEstimate(state: DialogState, message: IncomingMessage, ports: BotPorts): Promise<DialogState> {
  const code = message.estimateCode;
  if (code === undefined || code === state.estimateCode) return state;
  const slots = await records.slotsOfEstimate(ports.store, code);
  if (slots === undefined) return state;
  return {
    ...state,
    slots,
    estimateCode: code,
    answered: true,
    asked: null,
    attempts: 0,
    intent: state.intent ?? 'size',
  };
}

interface Handled {
  readonly message: IncomingMessage;
  readonly decided: DecidedTurn;
  readonly reply: Reply;
  readonly code: string | null;
}

async function remember({ message, decided, reply, code }: Handled, ports: BotPorts): Promise<void> {
  const { store, retentionDays } = ports;
  const now = ports.now();
  const { comparisons, recommendation } = decided.facts;
  if (code === null || recommendation === undefined) return;
  if (comparisons !== undefined) {
    const gpu = measuredCard(recommendation)?.gpu ?? null;
    await records.keepMeasurements(store, code, { comparisons, estimate: recommendation.estimate, gpu, now });
  }
  const [verdict = ''] = reply.fallback.split('\n');
  await records.listEstimate(store, { message, slots: decided.state.slots, code, verdict, now, retentionDays });
}
