import type { Deployment } from '../../core/config/deployment.ts';
import type { TokenPlaces } from '../../core/oauth/compose.ts';

/** What a process of the bench is to do, in its environment as JSON. */
export interface Job {
  /** `secret`: a bare GetSecretValue per client. `token`: one `getAccessToken` per client. `warm`: many, after a first. */
  work: 'secret' | 'token' | 'warm';
  clients: number;
  places: TokenPlaces;
  crm: Deployment['crm'];
}

/** What calls to AWS were for. A claim that another had already made is no write: its condition did not hold. */
const COUNTED = ['reads', 'versions', 'ledgerWrites', 'refusedClaims'] as const;

export type Counts = Record<(typeof COUNTED)[number], number>;

const MEASURED = ['wallMs', 'cpuMs', ...COUNTED] as const;

export type Figures = Record<(typeof MEASURED)[number], number>;

/** What it cost, from the word to begin to the last client's end. */
export interface Cost extends Figures {
  /** How many different tokens the clients were given. */
  tokens: string[];
}

/** A warm call is so short that only this many can be measured. */
export const WARM_CALLS = 10_000;

/** Each figure of some costs, put together to one. */
export function figuresOf(costs: Cost[], together: (values: number[]) => number): Figures {
  const figures = MEASURED.map((name) => [name, together(costs.map((cost) => cost[name]))]);
  return Object.fromEntries(figures);
}
