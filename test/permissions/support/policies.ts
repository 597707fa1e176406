import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import type { Resource, Template } from '../../../scripts/template.ts';
import { Names } from './arns.ts';

/** A policy statement, its references followed. */
interface Statement {
  Sid?: string;
  Effect: 'Allow' | 'Deny';
  Action: string | string[];
  Resource: string | string[];
  Principal?: '*' | { AWS?: string | string[]; Service?: string | string[] };
  Condition?: Record<string, Record<string, unknown>>;
}

interface Policy {
  Statement: Statement[];
}

/** All policies of a template: of roles by the role's ARN, of resources by theirs. */
export interface Policies {
  roles: Record<string, Policy[]>;
  /** The policies of buckets and of the key, which roles use; each by its ARN. */
  resources: Record<string, Policy>;
}

/** One minimal right: one action on one pattern of resources. */
export interface Right {
  role: string;
  action: string;
  resource: string;
  statement: Statement;
}

const listed = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value]);

/** The stack with every option, as it goes to AWS: template, names and policies. */
export function wholeStack() {
  const template = synthesise(fullDeployment());
  const names = new Names(template);
  return { template, names, policies: policiesOf(template, names) };
}

export function roleOfStep(names: Names, step: string): string {
  return names.arn(names.id('AWS::IAM::Role', `${step}Role`));
}

function policiesOf(template: Template, names: Names): Policies {
  const of = (type: string) => Object.entries(template.Resources).filter(([, { Type }]) => Type === type);
  const document = (value: unknown) => names.value(value) as Policy;
  refuseUnread(of('AWS::IAM::Role'), of('AWS::IAM::ManagedPolicy'));
  const attached = of('AWS::IAM::Policy').flatMap(([, { Properties }]) =>
    Properties.Roles.map((role: unknown) => [names.value(role), document(Properties.PolicyDocument)] as const),
  );
  const roles = of('AWS::IAM::Role').map(([id]) => {
    return [names.arn(id), attached.filter(([role]) => role === id).map(([, policy]) => policy)];
  });
  const buckets = of('AWS::S3::BucketPolicy').map(([, { Properties }]) => {
    return [names.arn(Properties.Bucket.Ref), document(Properties.PolicyDocument)];
  });
  const keys = of('AWS::KMS::Key').map(([id, { Properties }]) => [names.arn(id), document(Properties.KeyPolicy)]);
  return { roles: Object.fromEntries(roles), resources: Object.fromEntries([...buckets, ...keys]) };
}

/** This function reads no other kind of policy, so the stack must have none. */
function refuseUnread(roles: [string, Resource][], managed: [string, Resource][]): void {
  const unread = [
    ...roles.filter(([, { Properties }]) => Properties.ManagedPolicyArns ?? Properties.Policies),
    ...managed,
  ];
  if (unread.length > 0) throw new Error(`the policies of ${unread.map(([id]) => id)} are not read`);
}

/** Every right that a role has, by its own policies and by those of buckets. */
export function rightsOf({ roles, resources }: Policies): Right[] {
  const own = Object.entries(roles).flatMap(([role, documents]) =>
    documents.flatMap(({ Statement }) => Statement.flatMap((statement) => rightsIn(role, statement))),
  );
  const given = Object.values(resources).flatMap(({ Statement }) =>
    Statement.flatMap((statement) => {
      const principals = typeof statement.Principal === 'object' ? listed(statement.Principal.AWS ?? []) : [];
      return principals.filter((arn) => arn in roles).flatMap((role) => rightsIn(role, statement));
    }),
  );
  return [...own, ...given];
}

function rightsIn(role: string, statement: Statement): Right[] {
  if (statement.Effect !== 'Allow') return [];
  return listed(statement.Action).flatMap((action) =>
    listed(statement.Resource).map((resource) => ({ role, action, resource, statement })),
  );
}
