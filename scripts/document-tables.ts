import * as z from 'zod';
import { deploymentSchema } from '../core/config/deployment.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { timingOf } from '../core/config/timing.ts';
import { ERRORS, type ErrorName } from '../core/errors.ts';
import { CHECKS } from '../core/gate/checks.ts';
import { OTHER_ENDS } from '../lambdas/mail-failed-runs/mail-failed-runs.ts';
import { ALARMS } from '../lib/monitoring/alarm-list.ts';

/** The tables of the documents that repeat what the code knows. */

type Schema = z.core.JSONSchema.BaseSchema;

const RETRIED = { final: 'no', transient: 'until the deadline', machine: 'no; the state machine itself ends the run' };

/** Every field of `config/NAME.json`. */
export function configurationTable(): string {
  const whole = z.toJSONSchema(deploymentSchema, { io: 'input' });
  return markdownTable(['Field', 'Default', 'Values', 'Meaning'], fieldsOf(whole).map(fieldRow));
}

/** Every kind of records, and when its run starts unless the configuration says otherwise. */
export function entityTable(): string {
  const settings = deploymentSchema.parse({
    crm: { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://crm.example.com' },
  });
  const rows = ENTITIES.map((entity) => [code(entity), timingOf(settings, entity).starts?.join() ?? '']);
  return markdownTable(['Entity', 'Start (UTC)'], rows);
}

/** The names of all kinds of records, for a sentence. */
export function entityNames(): string {
  return `${ENTITIES.map(code).join(', ')}.`;
}

/** Every error that a run can end in, whether it is retried first, and what tells it. */
export function errorTable(): string {
  const ours = Object.entries(ERRORS).map(([name, { class: kind }]) => {
    return [link(name), RETRIED[kind], Object.hasOwn(ALARMS, name) ? 'alarm, mail' : 'mail'];
  });
  const others = Object.keys(OTHER_ENDS).map((name) => [link(name), RETRIED.machine, 'mail']);
  const stopped = ['[`StoppedByOperator`](#executionsaborted)', 'no', 'alarm'];
  return markdownTable(['Error', 'Retried', 'Told by'], [...ours, ...others, stopped]);
}

/** The checks of the gate, for readers of files. */
export function checkTable(): string {
  const rows = CHECKS.map(({ id, stops, setting, final, promised }) => [
    ...[`\`${id}\``, stops, setting, promised ? 'yes' : 'no', final ? 'no' : 'yes'],
  ]);
  return markdownTable(
    ['Check', 'Stops a file', 'Setting, and its default', 'Unknown stops', 'A person may release it'],
    rows,
  );
}

export function alarmTable(): string {
  const rows = Object.entries(ALARMS).map(([name, meaning]) => [link(name), meaning]);
  return markdownTable(['Alarm', 'Meaning'], rows);
}

const FIX = /^\*\*Fix\.\*\* .*$/m;

/**
 * The runbook with the advice of each error at the start of its entry's part "Fix", as the error's cause ends in it.
 * @throws Error for an entry without that part
 */
export function withAdvice(runbook: string): string {
  return runbook
    .split(/^(?=### )/m)
    .map((entry) => {
      const name = /^### (\S+)/.exec(entry)?.[1];
      if (!name || !Object.hasOwn(ERRORS, name)) return entry;
      if (!FIX.test(entry)) throw new Error(`docs/runbook.md: ${name} has no part "Fix"`);
      return entry.replace(FIX, () => `**Fix.** ${ERRORS[name as ErrorName].advice}`);
    })
    .join('');
}

interface Field {
  path: string;
  schema: Schema;
  required: boolean;
  /** The optional object that it is a part of. */
  within: string | undefined;
}

/** The fields of an object and of the objects in it; `entities.ENTITY` is any entity. */
function fieldsOf(schema: Schema, parent = '', within?: string): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    if (typeof value !== 'object' || key === '$schema') return [];
    const path = parent ? `${parent}.${key}` : key;
    if (path === 'entities' && typeof value.additionalProperties === 'object') {
      return fieldsOf(value.additionalProperties, 'entities.ENTITY');
    }
    const required = new Set(schema.required).has(key);
    const inner = path.endsWith('ENTITY.polling') ? [] : fieldsOf(value, path, required ? within : path);
    return inner.length > 0 ? inner : [{ path, schema: value, required, within }];
  });
}

function fieldRow({ path, schema, required, within }: Field): string[] {
  const standard = schema.default === undefined ? 'none' : code(JSON.stringify(schema.default));
  return [
    code(path),
    required ? `required${within ? ` with ${code(within)}` : ''}` : standard,
    valuesOf(schema),
    schema.description ?? '',
  ];
}

function valuesOf({ type, enum: values, minimum, maximum, items, anyOf }: Schema): string {
  if (anyOf) return anyOf.map((each) => (typeof each === 'object' ? valuesOf(each) : '')).join(', or ');
  if (values) return values.map((value) => code(JSON.stringify(value))).join(', ');
  if (type === 'array') {
    const each = typeof items === 'object' && !Array.isArray(items) ? items : {};
    return each.enum ? `list of ${valuesOf(each)}` : 'list';
  }
  if (type === 'boolean') return '`true`, `false`';
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return type === 'string' ? 'text' : `${type ?? ''}`;
}

function link(name: string): string {
  return `[\`${name}\`](#${name.toLowerCase()})`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function markdownTable(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
