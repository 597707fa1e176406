import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod/mini';
import { parseJson } from '../../../core/json.ts';
import type { Check } from '../../checks/check.ts';
import { broken, type Finding, holdsUnless } from '../../checks/finding.ts';
import { deployedRules, RULE_RIGHTS } from '../../checks/rules.ts';
import { REWRITE } from '../../support/aws-error.ts';
import type { Verifying } from '../base/verifying.ts';

/** Where a start goes that a rule cannot deliver. */
export const UNDELIVERED_STARTS: Check<Verifying> = {
  id: 'undelivered-starts',
  question: 'Does the queue of undelivered starts let every rule in?',
  rights: [...RULE_RIGHTS, 'sqs:GetQueueAttributes on the queue of undelivered starts'],
  look: undeliveredStarts,
};

const oneOrMore = z.union([z.string(), z.array(z.string())]);
const conditions = z.record(z.string(), z.record(z.string(), oneOrMore));
const policySchema = z.object({
  Statement: z.array(
    z.looseObject({
      Effect: z.string(),
      Principal: z.optional(z.union([z.string(), z.record(z.string(), oneOrMore)])),
      Action: z.optional(oneOrMore),
      Condition: z._default(conditions, {}),
    }),
  ),
});

/** Reads the policy by which a start may arrive in the queue: only EventBridge can show that one does. */
async function undeliveredStarts(verifying: Verifying): Promise<Finding> {
  const { UndeliveredStartsUrl: QueueUrl, sqs } = verifying.target;
  const look = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['Policy'] });
  const policy = parseJson(policySchema, (await sqs.send(look)).Attributes?.Policy);
  if (!policy) return broken('the queue has no policy', `${REWRITE}.`);
  const found = await deployedRules(verifying);
  const out = found.filter(({ arn }) => !policy.Statement.some((statement) => letsIn(statement, arn)));
  return holdsUnless(
    out.map(({ name }) => `the policy does not let ${name} send`),
    `its policy lets each of ${found.length} rules send`,
    `${REWRITE}.`,
  );
}

function letsIn(
  { Effect, Principal, Action, Condition }: z.infer<typeof policySchema>['Statement'][number],
  arn: string,
): boolean {
  const services = typeof Principal === 'string' ? [Principal] : [Principal?.Service ?? Principal?.AWS ?? []].flat();
  const sources = Object.entries(Condition).flatMap(([operator, keys]) =>
    /^Arn(Equals|Like)$/.test(operator) ? Object.entries(keys).flatMap(([key, of]) => (isSource(key) ? of : [])) : [],
  );
  return (
    Effect === 'Allow' &&
    services.some((service) => service === 'events.amazonaws.com') &&
    [Action ?? []].flat().some((action) => /^sqs:(SendMessage|\*)$/i.test(action)) &&
    sources.includes(arn)
  );
}

function isSource(key: string): boolean {
  return key.toLowerCase() === 'aws:sourcearn';
}
