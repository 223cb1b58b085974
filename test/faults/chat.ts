/** One message of a person, delivered as often as a test likes. */
export interface Said {
  /** By which its answer is recognised. */
  readonly id: string;
  /** One delivery, to any replica; whether the bot acknowledged it. */
  deliver(retry: number): Promise<boolean>;
}

export interface Talk {
  say(text: string): Said;
}

/** What came back in one conversation. */
export interface Answer {
  /** Of the message that it answers. */
  readonly id: string;
  readonly text: string;
}

/** A chat platform as a campaign sees it. */
export interface Chat {
  /** Environment that lets the program serve this platform. */
  readonly env: Readonly<Record<string, string>>;
  /** Begins a conversation that nobody else takes part in. */
  open(): Talk;
  /** All answers so far, in the order of their arrival. */
  answers(): readonly Answer[];
  /** Messages of the bot so far, notices included. */
  posted(): number;
  stop(): Promise<void>;
}
