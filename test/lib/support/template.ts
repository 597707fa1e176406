import { type Resource, resolved, type Template } from '../../../scripts/template.ts';

// biome-ignore lint/suspicious/noExplicitAny: a statement of a policy, as CloudFormation writes it.
type Statement = any;

export function allOf(template: Template, type: string): [id: string, resource: Resource][] {
  return Object.entries(template.Resources).filter(([, { Type }]) => Type === type);
}

/** The only resource of a type whose logical id has this prefix. */
export function oneOf(template: Template, type: string, prefix = ''): [id: string, resource: Resource] {
  const [first, ...more] = allOf(template, type).filter(([id]) => id.startsWith(prefix));
  if (!first || more.length > 0) throw new Error(`there is not exactly one ${type} ${prefix}`);
  return first;
}

/** A list from a policy value, which may be one item or a list. */
export function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** The text of a value: a reference is the id of its resource. */
export function textOf(value: unknown): string {
  return typeof value === 'object' ? resolved(value) : String(value);
}

export function statementsOf(policy: Resource): Statement[] {
  return (policy.Properties.PolicyDocument ?? policy.Properties.KeyPolicy).Statement;
}

/** @returns the end of an ARN of executions of the state machine, such as `:*`; undefined for another ARN */
function executionsOf(resource: unknown): string | undefined {
  return /":execution:",.*"(:\*|\/ApplyChunks:\*)"\]\]/.exec(JSON.stringify(resource))?.[1];
}

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
