import type { Deployment } from '../../../core/config/deployment.ts';
import type { TokenPlaces } from '../../../core/oauth/access-token.ts';
import type { TokenSet } from '../../../core/oauth/grant.ts';

/** The job of a process with clients. */
export interface Job {
  clients: number;
  places: TokenPlaces;
  crm: Deployment['crm'];
  /** The speed of the clients' time relative to real time. */
  scale: number;
  /** The moment when both times were equal; by default the start of the job. */
  epoch?: number;
  rejected?: string;
  /** Reads of the label return this token set for that long, in the clients' time. */
  stale?: { tokenSet: TokenSet; forMs: number };
}

export type ClientAnswer = { accessToken: string } | { name: string; message: string };

export interface Done {
  answers: ClientAnswer[];
  labelReads: number;
}
