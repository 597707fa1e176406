import type { Command } from 'commander';
import { ConfigurationError, readConfiguration } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import { freshnessText } from '../../core/config/freshness.ts';
import { entitiesArgument, entitiesOrAll, withExamples } from '../support/command-options.ts';
import { partialFailure } from '../support/partial-failure.ts';
import { pathArgument } from '../support/paths.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { type SwitchedRule, switchRule } from './pause-rules.ts';

interface PauseOptions extends TargetOptions {
  configuration?: string;
  all?: boolean;
  json?: boolean;
}

/** For a configuration that is not at hand. */
const FRESHNESS = '26 hours or more (fewer only where freshnessHours says so)';

/** Registers `pause`: the nightly rules of entities are switched off. */
export function addPause(command: Command): void {
  withEntities(command).action(pause);
  withExamples(command, {
    'pause leads --deployment prod': 'no more nights of leads, until resume',
    'pause --all --deployment prod': 'while the service is being rebuilt',
  });
}

/** Registers `resume`: they are switched on again. */
export function addResume(command: Command): void {
  withEntities(command).action(resume);
  withExamples(command, {
    'resume leads --deployment prod': 'from the next night on',
    'resume --all --deployment prod': 'all entities',
  });
}

function withEntities(command: Command): Command {
  return command
    .argument('[entity...]', ENTITIES.join(', '), entitiesArgument)
    .option('--all', 'all entities')
    .option('--configuration <file>', 'default: config/NAME.json, if it is there', pathArgument)
    .option('--json', 'one JSON document on standard output, all else on standard error');
}

async function pause(named: Entity[], options: PauseOptions): Promise<void> {
  const { deployment } = configured(options);
  const hours = deployment ? freshnessText(deployment, entitiesOrAll(named, options.all)) : FRESHNESS;
  await switchRules(named, 'DISABLED', options);
  process.stderr.write(
    `The alarm NoPublishedExport is raised ${hours} after the last published export of each; it names no cause.\n` +
      'A deploy that changes a rule switches it back to what the configuration says. To switch off for good: set entities.NAME.enabled to false, and deploy.\n',
  );
}

async function resume(named: Entity[], options: PauseOptions): Promise<void> {
  const { off } = configured(options);
  const rules = await switchRules(named, 'ENABLED', options);
  const against = rules.flatMap(({ entity }) => (off.includes(entity) ? [entity] : []));
  if (against.length > 0) {
    process.stderr.write(
      `The configuration has switched off ${against.join(', ')}: a deploy that changes the rule switches it off again.\n`,
    );
  }
  process.stderr.write('Nights that were missed are not made up for: npm run cli -- start ENTITY --date YYYY-MM-DD.\n');
}

async function switchRules(
  named: Entity[],
  state: SwitchedRule['state'],
  options: PauseOptions,
): Promise<SwitchedRule[]> {
  const entities = entitiesOrAll(named, options.all);
  const target = await connect(options);
  const rules: SwitchedRule[] = [];
  for (const entity of entities) {
    const rule = await switchRule(target, entity, state).catch((error: unknown) => {
      if (rules.length === 0) throw error;
      const names = rules.map((switched) => switched.entity).join(', ');
      const word = wordFor(state);
      throw partialFailure(
        error,
        `Switched ${word} before that: ${names}; not: ${entity}.`,
        options.json ? { rules } : undefined,
      );
    });
    rules.push(rule);
    if (!options.json) process.stdout.write(`${entity}: ${stateText(rule)} (rule ${rule.rule}).\n`);
  }
  if (options.json) process.stdout.write(`${JSON.stringify({ ok: true, rules })}\n`);
  return rules;
}

function stateText({ state, changed }: SwitchedRule): string {
  return changed ? `switched ${wordFor(state)}` : `was ${wordFor(state)} already`;
}

function wordFor(state: SwitchedRule['state']): 'on' | 'off' {
  return state === 'ENABLED' ? 'on' : 'off';
}

/**
 * What the configuration says about nights, where it is at hand: the account knows it otherwise.
 * @throws ConfigurationError where a file was named and cannot be used
 */
function configured({ deployment: name, configuration, endpointUrl }: PauseOptions): {
  deployment?: Deployment;
  off: Entity[];
} {
  try {
    const endpoint = endpointUrl ?? process.env.AWS_ENDPOINT_URL;
    const { deployment } = readConfiguration(name, configuration, endpoint);
    const off = ENTITIES.filter((entity) => !entityPlan(deployment, entity).enabled);
    return { deployment, off };
  } catch (error) {
    if (configuration !== undefined || !(error instanceof ConfigurationError)) throw error;
    return { off: [] };
  }
}
