import { type Resource, resolved, type Template } from '../../../scripts/template.ts';

// biome-ignore lint/suspicious/noExplicitAny: a statement of a policy, as CloudFormation writes it.
export type Statement = any;

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
export function executionsOf(resource: unknown): string | undefined {
  return /":execution:",.*"(:\*|\/ApplyChunks:\*)"\]\]/.exec(JSON.stringify(resource))?.[1];
}
