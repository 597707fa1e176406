import type { Deployment } from '../../../core/config/deployment.ts';
import type { TokenPlaces } from '../../../core/oauth/access-token.ts';
import type { Generation } from '../../../core/oauth/grant.ts';

/** What a process of clients is told to do. */
export interface Job {
  clients: number;
  places: TokenPlaces;
  crm: Deployment['crm'];
  /** How much faster than the world the clients' time runs. */
  scale: number;
  /** When both times were the same; by default at the beginning of the job. */
  epoch?: number;
  rejected?: string;
  /** Reads of the label answer this for so long, in the clients' time. */
  stale?: { generation: Generation; forMs: number };
}

export type ClientAnswer = { accessToken: string } | { name: string; message: string };

export interface Done {
  answers: ClientAnswer[];
  labelReads: number;
}
