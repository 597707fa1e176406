import type { OAuthSettings } from '../../core/config/deployment.ts';
import { BEFORE_THE_FIRST, type Generation, successorOf } from '../../core/oauth/generation.ts';
import { createGrantStore, type GrantStore } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { type OAuthClient, readOAuthClient } from '../../core/oauth/secrets.ts';
import type { Clock } from '../support/aws-clock.ts';
import { USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Check, type Findings, failed, ok, warning } from './check.ts';
import { type Around, grantCheck, ledgerCheck } from './grant.ts';

/** What is stored; `undefined` where it cannot be read. */
export interface Stored {
  client: OAuthClient | undefined;
  generation: Generation | undefined;
  /** Whether the ledger lets the generation be spent. */
  spendable: boolean;
}

/** Reads both secrets and the ledger. */
export async function lookAtPlaces(
  findings: Findings,
  target: Target,
  crm: OAuthSettings | undefined,
  clock: Clock,
  around: () => Around,
): Promise<Stored> {
  const { secrets, dynamo, ClientSecretId, TokensSecretId, LedgerTableName } = target;
  const client = await findings.look(
    'client-secret',
    () => readOAuthClient(secrets, ClientSecretId),
    (found) => clientCheck(found, crm, around()),
  );
  const grant = await findings.look(
    'grant',
    () => newestOf(createGrantStore(secrets, TokensSecretId)),
    ({ labelled, newest }) => grantCheck(labelled, newest, around()),
  );
  const ledger = createLedger(dynamo, LedgerTableName, TokensSecretId);
  const generation = grant?.newest;
  let spendable = false;
  await findings.look(
    'ledger',
    () => ledger.read(generation?.versionId ?? BEFORE_THE_FIRST),
    (item) => {
      const check = generation ? ledgerCheck(item, around()) : ok('ledger', 'Reachable; there is no grant to spend.');
      spendable = check.status !== 'failed';
      return check;
    },
  );
  findings.add(clockCheck(clock));
  return { client, generation, spendable };
}

/** The generation with the label AWSCURRENT, and its last successor. @throws RunError */
export async function newestOf(store: GrantStore) {
  const labelled = await store.current();
  let newest = labelled;
  for (;;) {
    const successor = await store.version(successorOf(newest.versionId));
    if (!successor) return { labelled, newest };
    newest = successor;
  }
}

function clientCheck(
  { clientId, clientSecret }: OAuthClient,
  crm: OAuthSettings | undefined,
  { authorizeCommand }: Around,
): Check {
  if (clientSecret || !crm || crm.clientAuthentication === 'none') {
    return ok('client-secret', `The OAuth client is stored (id of ${clientId.length} characters).`);
  }
  const text = `The client has no secret, but crm.clientAuthentication is "${crm.clientAuthentication}".`;
  const advice = `Set CRM_CLIENT_SECRET, then: ${authorizeCommand} --client-id ID.`;
  return failed('client-secret', text, advice, USAGE);
}

/** Whether this machine and AWS agree about the time. */
export function clockCheck(clock: Clock): Check {
  const offset = clock.offset();
  if (offset === undefined) return ok('clock', 'AWS did not say its time; that of this machine counts.');
  if (offset === 0) return ok('clock', 'This machine and AWS agree about the time.');
  const text = `The clock of this machine is ${Math.round(Math.abs(offset) / 1000)} s ${offset > 0 ? 'slow' : 'fast'}; the time of AWS is used here.`;
  return warning('clock', text, 'Set the clock of this machine; the functions have their own.');
}
