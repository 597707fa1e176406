import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import jsonc from 'jsonc-parser';
import * as z from 'zod';
import { jsonOrUndefined, repeatedKey } from '../json.ts';
import { requirementOf } from '../requirements.ts';
import { suggestion } from '../suggestion.ts';
import { type Deployment, deploymentSchema } from './deployment.ts';

/** The message has a line for every mistake, each with the path of its field. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigInvalid';
}

export interface Configuration {
  /** The name of the deployment: its stack is `crm-export-NAME`. */
  name: string;
  file: string;
  deployment: Deployment;
}

/**
 * @param name from `-c deployment=NAME`
 * @param file default `config/NAME.json`
 * @param endpoint AWS_ENDPOINT_URL: a local configuration is deployed to a loopback address only
 * @throws ConfigurationError
 */
export function readConfiguration(name: unknown, file: unknown, endpoint: string | undefined): Configuration {
  const configured = () => `${configurationFolder()}/ has ${deploymentNames().join(', ')}`;
  if (typeof name !== 'string' || !isDeploymentName(name)) {
    const form = 'at most 31 lower-case letters, digits and hyphens, of which the first is a letter';
    throw new ConfigurationError(`add -c deployment=NAME, with a name of ${form}; ${configured()}`);
  }
  const path = typeof file === 'string' ? file : configurationFile(name);
  if (!existsSync(path)) throw new ConfigurationError(`${path} does not exist; ${configured()}`);
  const parsed = deploymentSchema.safeParse(readJson(path), { error: requirementOf });
  if (!parsed.success) {
    const lines = problems(parsed.error).map((line) => `${path}: ${line}`);
    throw new ConfigurationError(lines.join('\n'));
  }
  if (parsed.data.local && !isLoopback(endpoint)) {
    const what = 'local: is true, so AWS_ENDPOINT_URL must name a loopback address (npm start does that)';
    throw new ConfigurationError(`${path}: ${what}`);
  }
  return { name, file: path, deployment: parsed.data };
}

/** Whether a deployment can have this name, which becomes part of the names of its stack and functions. */
export function isDeploymentName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,30}$/.test(name);
}

/** The mistakes in a configuration, a line for each field; empty if it can be deployed. */
export function configurationProblems(content: unknown): string[] {
  const parsed = deploymentSchema.safeParse(content, { error: requirementOf });
  return parsed.success ? [] : problems(parsed.error);
}

export function configurationFile(name: string): string {
  return join(configurationFolder(), `${name}.json`);
}

/**
 * The folder of the configurations: `config/` of the checkout. Tests set another folder, because they must not depend
 * on the deployments of the person who runs them.
 * @returns a path relative to the current directory if the folder is below it, else the absolute path
 * @throws ConfigurationError if it does not exist
 */
export function configurationFolder(): string {
  const folder = process.env.CRM_EXPORT_CONFIG || resolve(import.meta.dirname, '../../config');
  if (!existsSync(`${folder}/.`))
    throw new ConfigurationError(`there is no folder ${folder}: create it, or name another in CRM_EXPORT_CONFIG`);
  const near = relative(process.cwd(), folder) || '.';
  return near.startsWith('..') ? folder : near;
}

function readJson(path: string): unknown {
  // Not `isFile`: the shell passes the output of a command as a pipe.
  if (statSync(path).isDirectory()) throw new ConfigurationError(`${path}: is not a file`);
  const bytes = readFileSync(path);
  // Decoding replaces such bytes, and then a label in Hebrew would match no header.
  if (!isUtf8(bytes)) throw new ConfigurationError(`${path}: is not UTF-8: save it with the encoding UTF-8`);
  const text = bytes.toString().replace(/^\uFEFF/, '');
  const value = jsonOrUndefined(text);
  if (value === undefined) throw new ConfigurationError(`${path}: is not JSON: ${mistakeIn(text)}`);
  const twice = repeatedKey(text, value);
  if (twice === undefined) return value;
  throw new ConfigurationError(`${path}: ${twice}: is given twice in one object: keep one of them`);
}

/** What is wrong at a place in a text that is not JSON, by the codes of jsonc-parser. */
const MISTAKES: Record<string, string> = {
  CloseBraceExpected: 'a closing brace is missing',
  CloseBracketExpected: 'a closing bracket is missing',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  EndOfFileExpected: 'the configuration has ended: remove the text that follows',
  InvalidCharacter: 'a text contains a tab or another control character: write \\t for a tab',
  InvalidCommentToken: 'JSON has no comments: remove this one',
  InvalidEscapeCharacter: 'a backslash in a text must be written twice',
  InvalidUnicode: 'four hexadecimal digits must follow \\u',
  PropertyNameExpected: 'a name in double quotes is missing, or there is a comma too many',
  UnexpectedEndOfNumber: 'a digit is missing',
  UnexpectedEndOfString: 'a double quote is missing',
  ValueExpected: 'a value is missing, or there is a comma too many',
};

/** The first mistake. The error of `JSON.parse` often gives no line, and quotes the file. */
function mistakeIn(text: string): string {
  const errors: jsonc.ParseError[] = [];
  jsonc.parse(text, errors, { disallowComments: true });
  const [{ error, offset } = { error: undefined, offset: 0 }] = errors;
  const line = text.slice(0, offset).split('\n').length;
  const what = error && MISTAKES[jsonc.printParseErrorCode(error)];
  return `line ${line}: ${what ?? 'write names and texts in double quotes'}`;
}

function problems(error: z.ZodError): string[] {
  const issues = error.issues.flatMap(causesOf);
  const wrongTypes = issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => pathText(path));
  const lines = issues.flatMap((issue) => {
    // zod also compares the length of a text that should be a list.
    if (/^too_/.test(issue.code) && wrongTypes.includes(pathText(issue.path))) return [];
    if (issue.code !== 'unrecognized_keys' || issue.keys.length === 0)
      return `${pathText(issue.path)}: ${issue.message}`;
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: is unknown${hintFor(key, issue.path)}`);
  });
  return [...new Set(lines)];
}

/** The mistakes in a value. If a setting has several forms, the value is compared with the most similar form. */
function causesOf(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [issue];
  const forms = issue.errors.map((causes) =>
    causes.flatMap((cause) => causesOf({ ...cause, path: [...issue.path, ...cause.path] })),
  );
  const isInside = ({ code, path }: z.core.$ZodIssue) =>
    path.length > issue.path.length || !['invalid_type', 'invalid_value', 'invalid_union'].includes(code);
  return forms.find((causes) => causes.some(isInside)) ?? [issue];
}

/** Suggests a similar key of the same object, else the place where the key belongs, else the keys of the object. */
function hintFor(unknown: string, path: PropertyKey[]): string {
  const places = new Map<string, string[]>();
  addKeys(z.toJSONSchema(deploymentSchema, { io: 'input' }), '', places);
  const here = path.map((part, index) => (path[0] === 'entities' && index === 1 ? 'ENTITY' : part));
  const keysHere = places.get(path.length > 0 ? pathText(here).replace(/\[\d+\]/g, '[]') : '') ?? [];
  const near = suggestion(unknown, keysHere);
  if (near !== '') return near;
  const others = [...places].filter(([, keys]) => keys.some((key) => key.toLowerCase() === unknown.toLowerCase()));
  const belongs = others.map(([place]) => (place === '' ? 'the top level' : `\`${place}\``)).join(' or ');
  if (belongs !== '') return ` here: it belongs to ${belongs}`;
  return keysHere.length > 0 ? ` (allowed here: ${keysHere.join(', ')})` : '';
}

/** Adds the keys of every object in a configuration, by the place of the object. */
function addKeys(schema: z.core.JSONSchema._JSONSchema, place: string, places: Map<string, string[]>): void {
  if (typeof schema !== 'object') return;
  const { properties = {}, propertyNames, additionalProperties, items, anyOf = [] } = schema;
  const names = (typeof propertyNames === 'object' ? propertyNames.enum : undefined) ?? Object.keys(properties);
  if (names.length > 0) places.set(place, [...(places.get(place) ?? []), ...names.map(String)]);
  for (const form of anyOf) addKeys(form, place, places);
  if (items && !Array.isArray(items)) addKeys(items, `${place}[]`, places);
  if (names.length > 0 && additionalProperties) addKeys(additionalProperties, `${place}.ENTITY`, places);
  for (const [key, inner] of Object.entries(properties)) addKeys(inner, `${place}.${key}`.replace(/^\./, ''), places);
}

function pathText(path: PropertyKey[]): string {
  const isWord = (part: PropertyKey) => typeof part === 'string' && /^[\p{L}\p{M}\w$-]+$/u.test(part);
  const parts = path.map((part) => (isWord(part) ? `.${String(part)}` : `[${JSON.stringify(part)}]`));
  return parts.join('').replace(/^\./, '') || '(whole file)';
}

export function isLoopback(endpoint: string | undefined): boolean {
  const host = endpoint && URL.canParse(endpoint) ? new URL(endpoint).hostname : '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Deployments that have a file in `config/`. */
export function deploymentNames(): string[] {
  return readdirSync(configurationFolder())
    .filter((file) => file.endsWith('.json') && file !== 'schema.json')
    .map((file) => basename(file, '.json'))
    .filter(isDeploymentName);
}
