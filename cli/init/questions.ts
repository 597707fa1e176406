import { InvalidArgumentError } from 'commander';
import { configurationProblems } from '../../core/config/configuration.ts';
import { deploymentSchema } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { START_UTC } from '../../core/schedule/timing.ts';
import { entitiesArgument } from '../support/command-options.ts';

/** A part of a configuration. */
export interface Settings {
  crm?: object;
  [field: string]: unknown;
}

/** Something that a person is asked for, or that an option says. */
export interface Question {
  /** The name of its option for commander. */
  key: 'deployment' | 'crmUrl' | 'authUrl' | 'timeZone' | 'at' | 'entities' | 'email';
  flags: string;
  about: string;
  /** What Enter alone means; without it an answer is needed. */
  normal?: string;
  /** What an answer other than the normal one gives the configuration. @throws InvalidArgumentError */
  settings: (answer: string) => Settings;
}

/** Addresses that no person gave, for what is asked later. */
const LATER = { baseUrl: 'https://later.example/api/v1', authUrl: 'https://later.example' };
const DEFAULTS = deploymentSchema.parse({ crm: LATER });

/** What is asked for, in this order, after the name. All other settings have a default that fits most. */
export const QUESTIONS: readonly Question[] = [
  {
    key: 'crmUrl',
    flags: '--crm-url <url>',
    about: 'address of the CRM from which all paths of its interface start; ends in /api/v1',
    settings: (baseUrl) => ({ crm: { baseUrl } }),
  },
  {
    key: 'authUrl',
    flags: '--auth-url <url>',
    about: 'address of the CRM before /authorize and /oauth/token',
    settings: (authUrl) => ({ crm: { authUrl } }),
  },
  {
    key: 'timeZone',
    flags: '--time-zone <zone>',
    about: 'IANA time zone in which a run gets its date',
    normal: DEFAULTS.timeZone,
    settings: (timeZone) => ({ timeZone }),
  },
  {
    key: 'at',
    flags: '--at <HH:MM>',
    about: 'start of the night in that time zone',
    normal: `${START_UTC} UTC`,
    settings: (at) => ({ nightly: { at } }),
  },
  {
    key: 'entities',
    flags: '--entities <names>',
    about: `entities of every night, with commas between them: ${ENTITIES.join(', ')}`,
    normal: 'all',
    settings: (names) => ({ entities: switchedOff(listOf(names)) }),
  },
  {
    key: 'email',
    flags: '--email <addresses>',
    about: 'addresses that get a mail for every alarm, with commas between them',
    normal: 'none',
    settings: (addresses) => ({ alarms: { email: listOf(addresses) } }),
  },
];

function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function switchedOff(names: string[]): Settings {
  const wanted = names.reduce<Entity[]>((before, name) => entitiesArgument(name, before), []);
  if (wanted.length === 0) throw new InvalidArgumentError('Name one entity at least.');
  const others = ENTITIES.filter((entity) => !wanted.includes(entity));
  return Object.fromEntries(others.map((entity) => [entity, { enabled: false }]));
}

/**
 * The configuration with one more answer, checked as a deployment checks it.
 * @throws InvalidArgumentError with one sentence for the person
 */
export function withAnswer(before: Settings, { normal, settings }: Question, answer: string): Settings {
  const more = answer === normal ? {} : settings(answer);
  const crm = { ...before.crm, ...more.crm };
  const [problem] = configurationProblems({ ...before, ...more, crm: { ...LATER, ...crm } });
  if (problem !== undefined) throw new InvalidArgumentError(`${problem}.`.replace(/\.\.$/, '.'));
  return { ...before, ...more, crm };
}
