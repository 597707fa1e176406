import { isUntried } from '../../core/oauth/token-freshness.ts';
import { type Check, given } from '../checks/check.ts';
import { FIRST_RUN, GRANT_STORED } from '../checks/grant-stored.ts';
import type { Doctoring } from './begin.ts';
import { accessTokenFinding, clientFinding, grantFinding, notLooked, scopesFinding } from './grant.ts';
import { refreshFinding } from './refresh.ts';

const READING = [
  'secretsmanager:GetSecretValue on both secrets',
  'kms:Decrypt on the key, through Secrets Manager and DynamoDB',
];

/** What is stored of the grant, and what comes of using it. */
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
