import type { OAuthSettings } from '../../core/config/deployment.ts';
import { PERSONAL_SCOPES, UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { type Generation, isUntried, tokenFreshness, versionsExhausted } from '../../core/oauth/grant.ts';
import { clientOf, type StoredClient, type Tokens } from '../../core/oauth/secrets.ts';
import { ENVIRONMENT, USAGE } from '../support/exit.ts';
import { type Around, type Doctoring, FIRST_RUN, notLooked, refreshFinding } from './doctor-look.ts';
import { broken, CannotTell, type Check, type Finding, given, holds, ifSeen, warning } from './health-check.ts';

interface Context {
  /** The newest grant; `undefined` if none is stored. */
  newest: () => Promise<Generation | undefined>;
}

/** Functions first store a grant when the first access token expires; only then is it known that they can store one. */
export const GRANT_STORED: Check<Context> = ifSeen({
  id: 'grant-stored',
  question: 'When did a function last store a refreshed grant?',
  rights: [
    'secretsmanager:GetSecretValue on both secrets',
    'kms:Decrypt on the key, through Secrets Manager and DynamoDB',
  ],
  look: async ({ newest }) => {
    const generation = await newest().catch(whereUnavailable);
    return generation ? storedFinding(generation.tokens) : [];
  },
});

/** If Secrets Manager or DynamoDB does not answer, the state of the grant is unknown. */
function whereUnavailable(error: unknown): never {
  if (error instanceof RunError && error.name === 'TokenStoreUnavailable') throw new CannotTell(error.message);
  throw error;
}

function storedFinding(tokens: Tokens): Finding {
  const { functionStoredAt, obtainedAt } = tokens;
  if (isUntried(tokens)) {
    return warning(
      `None has yet, since a person gave the grant at ${obtainedAt}.`,
      `Start a run while that person can consent again, for it refreshes the grant as the night will: ${FIRST_RUN}.`,
    );
  }
  if (!functionStoredAt) return holds('The grant that is stored does not say it: an earlier release stored it.');
  return holds(`At ${functionStoredAt}.`);
}

const READING = [
  'secretsmanager:GetSecretValue on both secrets',
  'kms:Decrypt on the key, through Secrets Manager and DynamoDB',
];

/** Checks of the stored client and grant, and of their use. */
export const GRANT_CHECKS: Check<Doctoring>[] = [
  {
    id: 'client-secret',
    question: 'Is the OAuth client stored?',
    rights: READING,
    look: async ({ client, grant, deployment, around }) => {
      const tokens = await grant().then(
        ({ newest }) => newest.tokens,
        () => ({}), // reported as the check 'grant'
      );
      return clientFinding(await client(), tokens, deployment?.crm, around());
    },
  },
  {
    id: 'grant',
    question: 'Is there a grant?',
    rights: READING,
    look: async ({ grant, around }) => {
      const { labelled, newest } = await grant();
      return grantFinding(labelled, newest, around());
    },
  },
  {
    id: 'ledger',
    question: 'Can the grant be spent when the time comes?',
    rights: ['dynamodb:GetItem on the ledger', 'kms:Decrypt on the key, through Secrets Manager and DynamoDB'],
    look: ({ ledger }) => ledger(),
  },
  given(GRANT_STORED, ({ generation }: Doctoring) => ({ newest: generation })),
  {
    id: 'refresh',
    question: 'Does the CRM refresh the grant?',
    option: '--refresh',
    rights: [
      'secretsmanager:PutSecretValue on both secrets',
      'dynamodb:UpdateItem on the ledger',
      'kms:GenerateDataKey on the key, through Secrets Manager',
    ],
    look: async ({ options, lacking, refreshed, generation, around }) => {
      if (!options.refresh) return [];
      const found = await refreshed();
      if (found) return refreshFinding(found, around().authorizeCommand);
      const before = await generation();
      if (before && isUntried(before.tokens)) {
        return notLooked('a first refresh by a function', `Start a run, which is to be the first: ${FIRST_RUN}.`);
      }
      return notLooked((await lacking()) ?? 'a grant that can be spent');
    },
  },
  {
    id: 'scopes',
    question: 'Has the grant every scope?',
    rights: READING,
    look: async ({ tokens, deployment, around }) => {
      const found = await tokens();
      return found && deployment ? scopesFinding(found, deployment.crm.scopes, around()) : [];
    },
  },
  {
    id: 'access-token',
    question: 'How long does the access token live?',
    rights: READING,
    look: async ({ tokens, around }) => {
      const found = await tokens();
      return found ? accessTokenFinding(found, around()) : [];
    },
  },
  {
    id: 'service',
    question: 'Does the CRM answer, with the grant?',
    rights: [],
    look: async ({ asked }) => (await asked()).service,
  },
  {
    id: 'columns',
    question: 'Do the columns that the CRM lists fit the configuration and the last export?',
    rights: [
      's3:GetObject on `published/*`, `runs/*`',
      's3:ListBucket on the bucket',
      'kms:Decrypt on the key, through S3',
    ],
    look: async ({ asked }) => (await asked()).columns,
  },
];

/** With a shorter life, refreshes alone could use up the versions that Secrets Manager allows a secret in a day. */
const SHORT_LIFE_MS = 20 * 60_000;
const FOR_NO_EXPORT = [...PERSONAL_SCOPES, UPDATE_SCOPE];

/** Whether the stored client matches the configuration. */
export function clientFinding(
  stored: StoredClient,
  tokens: Pick<Tokens, 'clientId'>,
  crm: OAuthSettings | undefined,
  { authorizeCommand }: Around,
): Finding {
  const client = clientOf(stored, tokens);
  if (!client)
    return broken(
      'Another OAuth client is stored than the grant was given to.',
      `Authorize again: ${authorizeCommand}.`,
      USAGE,
    );
  const { clientId, clientSecret } = client;
  if (clientSecret || !crm || crm.clientAuthentication === 'none') {
    return holds(`The OAuth client is stored (id of ${clientId.length} characters).`);
  }
  const text = `The client has no secret, but crm.clientAuthentication is "${crm.clientAuthentication}".`;
  return broken(text, `Set CRM_CLIENT_SECRET, then: ${authorizeCommand} --new-secret.`, USAGE);
}

/** @param labelled the version that AWSCURRENT names @param newest the last of its successors */
export function grantFinding(labelled: Generation, newest: Generation, { now }: Around): Finding {
  const { obtainedAt, expiresAt } = newest.tokens;
  const end = expiresAt === null ? 'its end is unknown' : `its access token ends at ${expiresAt}`;
  const exhausted = versionsExhausted(newest.tokens, now);
  if (exhausted) return broken(exhausted.message, ERRORS.SecretVersionsExhausted.advice, ENVIRONMENT);
  const text = `Generation ${newest.versionId}, obtained ${ago(now, obtainedAt)} (${obtainedAt}); ${end}.`;
  if (labelled.versionId === newest.versionId) return holds(text);
  return warning(
    `${text} AWSCURRENT still names its ancestor ${labelled.versionId}.`,
    'The functions find the newest by themselves. If this lasts, somebody moved the label: leave it to the software.',
  );
}

export function scopesFinding({ scope }: Tokens, needed: string[], { authorizeCommand }: Around): Finding {
  const held = scope.split(' ').filter(Boolean);
  const missing = needed.filter((name) => !held.includes(name));
  // The finding names requested scopes only: other names are text from the CRM.
  const ours = held.filter((name) => needed.includes(name));
  const others = held.length - needed.length + missing.length;
  const lists = `held: ${ours.join(' ') || 'none'}${others > 0 ? ` and ${others} more` : ''}; needed: ${needed.join(' ')}`;
  if (missing.length === 0) return holds(`All are there (${lists}).`);
  const text = `Lacking: ${missing.join(' ')} (${lists}).`;
  if (missing.every((name) => FOR_NO_EXPORT.includes(name))) {
    const advice = `No export needs these. If they are wanted: ${authorizeCommand}; else take them out of the configuration.`;
    return warning(text, advice);
  }
  const advice = `Let an administrator of the CRM grant them, or correct crm.scopes; then: ${authorizeCommand}.`;
  return broken(text, advice);
}

/** The lifetime of the access token. An expired token is not an error: a run refreshes it. */
export function accessTokenFinding(tokens: Tokens, { now, refreshCommand }: Around): Finding {
  if (tokens.expiresAt === null) {
    const text = 'The CRM does not say how long its access tokens live (no usable expires_in).';
    return warning(text, 'An hour is assumed, and a 401 refreshes: ask the operator of the CRM to send it.');
  }
  const life = Date.parse(tokens.expiresAt) - Date.parse(tokens.obtainedAt);
  const lives = `It lives for ${duration(life)}`;
  if (life < SHORT_LIFE_MS) {
    const text = `${lives}; every refresh stores a version of the secret, and Secrets Manager allows about 100 a day.`;
    return warning(text, 'Ask the operator of the CRM for a life of 20 minutes or more.');
  }
  if (tokenFreshness(tokens, undefined, now) === 'stale') {
    const text = `${lives} and is stale (it ends or ended at ${tokens.expiresAt}); the next run refreshes it.`;
    return warning(text, `To see now whether that works: ${isUntried(tokens) ? FIRST_RUN : refreshCommand}.`);
  }
  return holds(`${lives} and has ${duration(Date.parse(tokens.expiresAt) - now.getTime())} left.`);
}

function ago(now: Date, time: string): string {
  return `${duration(Math.max(0, now.getTime() - Date.parse(time)))} ago`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
