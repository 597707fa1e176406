import type { Template } from '../../../scripts/template.ts';
import { executionsOf, listed, type Statement, statementsOf, textOf } from './template.ts';

const WITH_POLICY = ['KMS::Key', 'S3::BucketPolicy', 'SNS::TopicPolicy', 'SQS::QueuePolicy'];

/** An id without the hash that CDK appends. The ARNs of executions are made of parts of the machine's ARN. */
function nameOf(value: unknown): string {
  const executions = executionsOf(value);
  return executions
    ? `execution:CustomerUpdates${executions}`
    : textOf(value).replaceAll(/([a-z])[0-9A-F]{8}\b(?:\.Arn)?/g, '$1');
}

function conditionText(condition: Record<string, Record<string, unknown>> = {}): string {
  return Object.entries(condition)
    .flatMap(([operator, keys]) =>
      Object.entries(keys).map(([key, values]) => `${operator} ${key} ${listed(values).map(nameOf).join(' | ')}`),
    )
    .join(', ')
    .replaceAll('.AWS::Region.AWS::URLSuffix', '');
}

/** A row for each principal and resource of a statement. @param of the principals or resources that it does not name */
function rowsOf(statement: Statement, policy: string, of: { who?: string[]; on?: string[] } = {}): string[][] {
  const { Effect, Action, Principal, Resource, Condition } = statement;
  const named =
    typeof Principal === 'string'
      ? [Principal]
      : Object.values(Principal ?? {})
          .flatMap(listed)
          .map(nameOf);
  const { who = named, on = listed(Resource).map(nameOf) } = of;
  return who.flatMap((role) =>
    on.map((each) => [role, Effect, each, listed(Action).toSorted().join(' '), conditionText(Condition), policy]),
  );
}

/** All policies of a template, in rows: who, effect, on what, actions, condition, and whose policy. */
export function rightsIn({ Resources }: Template): string[][] {
  return Object.entries(Resources)
    .flatMap(([id, resource]) => {
      const { Type, Properties } = resource;
      const own = nameOf({ Ref: id });
      if (Type === 'AWS::IAM::Role')
        return Properties.AssumeRolePolicyDocument.Statement.flatMap((each: Statement) =>
          rowsOf(each, 'its trust', { on: [own] }),
        );
      const who = Type === 'AWS::IAM::Policy' ? { who: Properties.Roles.map(nameOf) } : {};
      const policy = Type === 'AWS::IAM::Policy' ? 'its own' : own;
      const hasPolicy = 'who' in who || WITH_POLICY.some((type) => Type.endsWith(type));
      return hasPolicy ? statementsOf(resource).flatMap((each) => rowsOf(each, policy, who)) : [];
    })
    .toSorted((one, other) => one.join(' ').localeCompare(other.join(' '), 'en'));
}
