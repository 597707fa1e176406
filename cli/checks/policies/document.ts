import * as z from 'zod/mini';
import { parseJson } from '../../../core/json.ts';

/** A statement as fields whose values have no order, by names without case: `action`, `principal`, `stringequals aws:sourceaccount`. */
type Statement = Map<string, { name: string; values: string[] }>;

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const oneOrMore = z.union([scalar, z.array(scalar)]);
const names = z.union([scalar, z.record(z.string(), oneOrMore)]);
const statementSchema = z.object({
  Sid: z.optional(z.string()),
  Effect: z.string(),
  Principal: z.optional(names),
  NotPrincipal: z.optional(names),
  Action: z.optional(oneOrMore),
  NotAction: z.optional(oneOrMore),
  Resource: z.optional(oneOrMore),
  NotResource: z.optional(oneOrMore),
  Condition: z.optional(z.record(z.string(), z.record(z.string(), oneOrMore))),
});
const documentSchema = z.object({
  Version: z._default(z.string(), '2008-10-17'),
  Statement: z.pipe(
    z.transform((value) => [value].flat()),
    z.array(statementSchema),
  ),
});

/** What a policy says, however it is written: the order of statements and values, one value or a list, the case of names. */
export interface Policy {
  version: string;
  statements: { title: string; sid: string | undefined; fields: Statement }[];
}

/** @returns `undefined` where the text is no policy */
export function policyOf(text: string | undefined): Policy | undefined {
  const document = parseJson(documentSchema, text);
  if (!document) return undefined;
  const statements = document.Statement.map((one) => {
    const fields = fieldsOf(one);
    return { title: titleOf(one.Sid, fields), sid: one.Sid, fields };
  });
  return { version: document.Version, statements };
}

function fieldsOf({ Sid: _, Condition = {}, ...rest }: z.infer<typeof statementSchema>): Statement {
  const fields: Statement = new Map();
  const add = (name: string, values: string[]) => {
    // Names that differ in their case alone are one here, and none overwrites another.
    const before = fields.get(name.toLowerCase())?.values ?? [];
    fields.set(name.toLowerCase(), { name, values: [...new Set([...before, ...values])].toSorted() });
  };
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined) add(name, /Principal$/.test(name) ? principals(value) : listed(value));
  }
  for (const [operator, keys] of Object.entries(Condition)) {
    for (const [key, value] of Object.entries(keys)) add(`${operator} ${key}`, listed(value));
  }
  return fields;
}

/** A condition without a value is met by nothing, which is not the same as none. */
function listed(value: unknown): string[] {
  const values = [value].flat().map(String);
  return values.length > 0 ? values : ['(no value)'];
}

/** `*` and `{"AWS":"*"}` are one (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html). */
function principals(value: unknown): string[] {
  if (typeof value !== 'object') return listed(value);
  return Object.entries(value ?? {}).flatMap(([kind, of]) =>
    listed(of).map((one) =>
      kind !== 'AWS' ? `${kind} ${one}` : (/^arn:[^:]*:iam::(\d+):root$/.exec(one)?.[1] ?? one),
    ),
  );
}

/** A statement without a Sid is named by what it is about. */
function titleOf(sid: string | undefined, fields: Statement): string {
  if (sid) return sid;
  const of = (name: string) => fields.get(name)?.values ?? [];
  const who = of('principal').map((one) => one.split('/').at(-1) ?? one);
  return [...of('effect'), ...shortened(of('action')), ...(who.length > 0 ? ['of', ...shortened(who)] : [])].join(' ');
}

function shortened([first, ...more]: string[]): string[] {
  return [...(first ? [first] : []), ...(more.length > 0 ? [`and ${more.length} more`] : [])];
}

/** How a live policy differs from what is wanted, a sentence for each statement; empty where both say the same. */
export function differences(wanted: Policy, live: Policy): string[] {
  const missing = wanted.statements.filter((one) => !live.statements.some((other) => isSame(one.fields, other.fields)));
  const more = live.statements.filter((one) => !wanted.statements.some((other) => isSame(one.fields, other.fields)));
  const found = missing.map((one) => {
    const [index, changed] = [...more.entries()].find(([, other]) => isChanged(one, other)) ?? [];
    if (index === undefined || !changed) return `${one.title} is missing`;
    more.splice(index, 1);
    return `${one.title}: ${changesOf(one.fields, changed.fields).join(', ')}`;
  });
  return [
    ...(wanted.version === live.version ? [] : [`its version is ${live.version}, in the template ${wanted.version}`]),
    ...found,
    ...more.map(({ title }) => `${title} is not in the template`),
  ];
}

/** Two statements that are one, which somebody changed: they have a Sid, or all but one field, in common. */
function isChanged(one: Policy['statements'][number], other: Policy['statements'][number]): boolean {
  if (one.sid !== undefined && one.sid === other.sid) return true;
  return changesOf(one.fields, other.fields).length === 1;
}

function isSame(one: Statement, other: Statement): boolean {
  return changesOf(one, other).length === 0;
}

/** What each field lacks of the wanted one, and has besides. */
function changesOf(wanted: Statement, live: Statement): string[] {
  return [...new Set([...wanted.keys(), ...live.keys()])].flatMap((key) => {
    const [want, is] = [wanted.get(key), live.get(key)];
    const lacks = without(key, want?.values, is?.values);
    const has = without(key, is?.values, want?.values);
    const parts = [
      ...(lacks.length > 0 ? [`lacks ${lacks.join(' ')}`] : []),
      ...(has.length > 0 ? [`has ${has.map(shown).join(' ')}`] : []),
    ];
    return parts.length > 0 ? [`${(want ?? is)?.name} ${parts.join(' and ')}`] : [];
  });
}

/** Names of actions have no case. */
function without(key: string, all: string[] = [], those: string[] = []): string[] {
  const folded = (value: string) => (key.endsWith('action') ? value.toLowerCase() : value);
  const known = new Set(those.map(folded));
  return all.filter((value) => !known.has(folded(value)));
}

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids */
const DELETED_PRINCIPAL = /^A(RO|ID)A[A-Z0-9]{12,}$/;

function shown(value: string): string {
  return DELETED_PRINCIPAL.test(value) ? `${value} (the id of a role or user that was deleted)` : value;
}
