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
export interface Counts {
  reads: number;
  versions: number;
  ledgerWrites: number;
  refusedClaims: number;
}

/** What it cost, from the word to begin to the last client's end. */
export interface Cost extends Counts {
  wallMs: number;
  cpuMs: number;
  /** How many different tokens the clients were given. */
  tokens: string[];
}

/** A warm call is so short that only this many can be measured. */
export const WARM_CALLS = 10_000;
