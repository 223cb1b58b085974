import type { Locale } from '../message.ts';

/** What a press says: the same as typing `say`, so every choice works on every platform and in a terminal. */
export interface Choice {
  /** Short label in the person's language, at most 20 characters. */
  readonly label: string;
  /** The message that the choice stands for. */
  readonly say: string;
  /** The one to highlight. */
  readonly primary?: boolean;
}

/** One line of the tiers table; texts are ready to show. */
export interface TierLine {
  /** "B 标准" or "B standard". */
  readonly tier: string;
  readonly recommended: boolean;
  readonly instance: string;
  /** "1×A10 22.1 GiB". */
  readonly gpu: string;
  /** "放得下 余 14 GiB" or "over budget". */
  readonly result: string;
  /** "¥10.09/时", or a dash. */
  readonly price: string;
  /** "0.7–1.1", seconds per step, or a dash. */
  readonly secondsPerStep: string;
  /** Price of 1,000 steps, or a dash. */
  readonly costPerThousand: string;
  readonly note: string;
}

export interface BarSegment {
  readonly label: string;
  readonly bytes: number;
  /** Largest modules inside, or another hint. */
  readonly hint?: string;
}

/** Where a block belongs: what fits a phone screen, or behind "details". */
export type Level = 'main' | 'details';

/** Neutral parts of an answer. Every text is plain (no platform markup); renderers escape it. */
export type Block =
  | { readonly kind: 'verdict'; readonly level: Level; readonly text: string }
  | {
      readonly kind: 'tiers';
      readonly level: Level;
      readonly title: string;
      readonly columns: TierColumns;
      readonly rows: readonly TierLine[];
    }
  | {
      readonly kind: 'bar';
      readonly level: Level;
      readonly title: string;
      readonly segments: readonly BarSegment[];
      readonly capacityBytes?: number;
      readonly note: string;
    }
  | {
      readonly kind: 'facts';
      readonly level: Level;
      readonly title: string;
      readonly items: readonly { readonly label: string; readonly value: string }[];
    }
  | { readonly kind: 'list'; readonly level: Level; readonly title: string; readonly items: readonly string[] }
  | { readonly kind: 'text'; readonly level: Level; readonly text: string }
  | { readonly kind: 'code'; readonly level: Level; readonly title: string; readonly text: string }
  /** Assumptions, dates, sources: small print. */
  | { readonly kind: 'note'; readonly level: Level; readonly text: string };

/** Headings of the tiers table in the person's language. */
export type TierColumns = Readonly<Record<Exclude<keyof TierLine, 'recommended'>, string>>;

export interface Reply {
  readonly locale: Locale;
  readonly kind: 'answer' | 'question' | 'notice';
  /** Plain text of everything that matters; its first line is the verdict. For notifications and platforms without blocks. */
  readonly fallback: string;
  readonly blocks: readonly Block[];
  /** In order of usefulness: a platform that shows five shows the first five. */
  readonly choices: readonly Choice[];
  /** Short code by which a later message can refer to this estimate ("G7K2"). */
  readonly estimateCode?: string;
}
