/** What the fake Slack knows: workspaces, channels, messages, and ids that are good for a while. */
export interface FakeWorkspace {
  readonly team: string;
  readonly enterprise?: string;
  readonly orgWide?: boolean;
  readonly token: string;
  readonly botUser: string;
  readonly botId: string;
  scopes: readonly string[];
  /** Channels that exist; true where the bot is a member. */
  readonly channels: Map<string, boolean>;
  /** Locale by user. */
  readonly users: Map<string, string>;
}

export interface FakeMessage {
  readonly channel: string;
  readonly ts: string;
  readonly threadTs: string | undefined;
  readonly user: string;
  readonly team: string;
  text: string;
  blocks: readonly unknown[];
  metadata: unknown;
  /** Seen by this person only. */
  readonly onlyFor: string | undefined;
  edits: number;
}

export interface FakeView {
  readonly user: string;
  readonly team: string;
  readonly view: Record<string, unknown>;
  readonly kind: 'modal' | 'home';
}

interface ResponseUrl {
  readonly team: string;
  readonly channel: string;
  readonly user: string;
  readonly messageTs: string | undefined;
  readonly threadTs: string | undefined;
  readonly issuedAt: number;
  uses: number;
}

export const allScopes = [
  'app_mentions:read',
  'assistant:write',
  'channels:history',
  'chat:write',
  'commands',
  'groups:history',
  'im:history',
  'mpim:history',
  'users:read',
] as const;

export function fakeWorkspace(changes: Partial<FakeWorkspace> = {}): FakeWorkspace {
  return {
    team: 'T00FAKE00AA',
    token: 'xoxb-fake-one-secret',
    botUser: 'U00FAKEBOT01',
    botId: 'B00FAKEBOT01',
    scopes: allScopes,
    channels: new Map([
      ['C00FAKECHAN1', true],
      ['C00OTHERCHAN', false],
    ]),
    users: new Map([
      ['U00FAKEUSER1', 'en-US'],
      ['U00FAKEUSER2', 'en-US'],
      ['U00CHINESE01', 'zh-CN'],
    ]),
    ...changes,
  };
}

export class SlackStore {
  readonly workspaces: FakeWorkspace[] = [];
  readonly messages: FakeMessage[] = [];
  readonly views: FakeView[] = [];
  readonly prompts: { readonly channel: string; readonly prompts: readonly unknown[] }[] = [];
  /** Takes messages without checking them, for measurements. */
  lenient = false;
  readonly #triggers = new Map<string, number>();
  readonly #responses = new Map<string, ResponseUrl>();
  #counter = 0;

  nextTs(): string {
    this.#counter += 1;
    return `${Math.floor(Date.now() / 1000)}.${String(this.#counter).padStart(6, '0')}`;
  }

  issueTrigger(): string {
    this.#counter += 1;
    const trigger = `${Date.now()}.${this.#counter}.0123456789abcdef`;
    this.#triggers.set(trigger, Date.now());
    return trigger;
  }

  /** A trigger is good once, for three seconds. */
  takeTrigger(trigger: string): boolean {
    const issued = this.#triggers.get(trigger);
    this.#triggers.delete(trigger);
    return issued !== undefined && Date.now() - issued <= 3_000;
  }

  issueResponse(place: Omit<ResponseUrl, 'issuedAt' | 'uses'>): string {
    this.#counter += 1;
    const id = `response-${this.#counter}-secret`;
    this.#responses.set(id, { ...place, issuedAt: Date.now(), uses: 0 });
    return id;
  }

  /** Good five times within thirty minutes. */
  takeResponse(id: string): ResponseUrl | undefined {
    const found = this.#responses.get(id);
    if (found === undefined || found.uses >= 5 || Date.now() - found.issuedAt > 1_800_000) return undefined;
    found.uses += 1;
    return found;
  }

  expireResponses(): void {
    this.#responses.clear();
  }

  add(message: Omit<FakeMessage, 'ts' | 'edits'> & { ts?: string }): FakeMessage {
    const added: FakeMessage = { ts: this.nextTs(), ...message, edits: 0 };
    this.messages.push(added);
    return added;
  }

  find(channel: string, ts: string): FakeMessage | undefined {
    return this.messages.find((message) => message.channel === channel && message.ts === ts);
  }

  directChannel(user: string): string {
    return `D${user.slice(1)}`;
  }
}
