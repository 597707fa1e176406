import { type Check, given, ifSeen, remark } from '../checks/check.ts';
import { RULES } from '../checks/rules.ts';
import { readersFinding } from '../readers/reader-words.ts';
import { alarmAddresses, runbookUrl } from './alarms.ts';
import type { Doctoring } from './begin.ts';
import { concurrency } from './concurrency.ts';
import { leftOutFindings } from './left-out.ts';
import { NETWORK_CHECK } from './network/network.ts';
import { localStarts } from './starts.ts';
import { tablesFindings } from './tables.ts';
import { tonightFindings } from './tonight.ts';

const READING = [
  's3:GetObject on `published/*`, `runs/*`',
  's3:ListBucket on the bucket',
  'kms:Decrypt on the key, through S3',
];

/** What a night needs besides the grant, and what readers have. A rule may be off on purpose: its night does not come all the same. */
export const NIGHT_CHECKS: Check<Doctoring>[] = [
  {
    id: 'runbook',
    question: 'Do alarms link the runbook?',
    rights: [],
    look: ({ deployment }) => (deployment ? runbookUrl(deployment) : []),
  },
  ifSeen(
    given(RULES, async ({ target, stack, options, known }: Doctoring) => {
      return { target, place: options, stack: await stack(), file: known?.file };
    }),
  ),
  NETWORK_CHECK,
  remark({
    id: 'starts',
    question: 'Do the rules start entities at their local times?',
    rights: RULES.rights,
    look: ({ deployment, schedules, now }) => (deployment ? localStarts(schedules, deployment, now()) : []),
  }),
  {
    id: 'tonight',
    question: "Do files like the newest ones pass the gate of today's settings?",
    rights: READING,
    look: ({ target, deployment, options, now }) =>
      deployment ? tonightFindings(target, deployment, { now, read: options.read }) : [],
  },
  remark({
    id: 'concurrency',
    question: 'May the account run all functions at once?',
    rights: ['lambda:GetAccountSettings on `*`: AWS knows no resource for it'],
    look: ({ target, deployment }) => concurrency(target, deployment),
  }),
  remark({
    id: 'alarm-addresses',
    question: 'Does anybody hear of alarms?',
    rights: ['sns:ListSubscriptionsByTopic on the topic of the alarms'],
    look: ({ target, deployment }) => alarmAddresses(target, deployment?.alarms.email),
  }),
  remark({
    id: 'tables',
    question: "Do the tables stand under today's settings of columns?",
    rights: [...READING, 's3:GetObject on `tables/*`'],
    look: ({ target, deployment, options }) => (deployment ? tablesFindings(target, deployment, options) : []),
  }),
  remark({
    id: 'readers',
    question: 'Who may read from other accounts?',
    rights: [],
    look: ({ deployment }) => (deployment ? readersFinding(deployment) : []),
  }),
  remark({
    id: 'left-out',
    question: 'Do published files have a column that is left out today?',
    rights: READING,
    look: ({ target, deployment }) => (deployment ? leftOutFindings(target, deployment) : []),
  }),
];
