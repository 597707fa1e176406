import { type Command, Option } from 'commander';
import { ENTITIES } from '../../core/config/entities.ts';
import {
  dateArgument,
  entitiesArgument,
  entityArgument,
  numberArgument,
  sinceArgument,
} from '../support/command-options.ts';
import { DATE_OF_RUN, type Definition, JSON_ALONE, withRun } from './define-command.ts';

export const NIGHT_COMMANDS = {
  status: {
    about: 'show whether last night worked, what is missing and how to fix it',
    takes: (command) =>
      command
        .addOption(
          new Option(
            '--all-deployments',
            'print one line for each deployment of the account and region, the worst first',
          ).conflicts(['deployment']),
        )
        .option(
          '--call-timeout <seconds>',
          'time limit of one AWS call; default with --all-deployments: 20',
          numberArgument(1, 600),
        )
        .option('--date <YYYY-MM-DD>', 'show this date instead of last night', dateArgument)
        .option('--json', 'print one JSON document'),
    examples: {
      'status --deployment prod': 'did last night work?',
      'status --date 2026-11-20 --deployment prod': 'is this date complete?',
      'status --all-deployments --profile exports': 'which deployments of the account and region are incomplete?',
    },
    note: 'Exit code 0: every date that is due is complete, or no date is due yet. 1: something is missing. 3: status found no answer.',
    action: async () => (await import('../night/night-status.ts')).status,
  },
  start: {
    about: 'start runs as the nightly rules do',
    takes: (command) =>
      command
        .argument('[entity...]', ENTITIES.join(', '), entitiesArgument)
        .option('--all', 'start all entities whose nightly rule is enabled in the configuration')
        .option('--date <YYYY-MM-DD>', DATE_OF_RUN, dateArgument)
        .option(
          '--same-data',
          "with a past date: start even if the plan does not depend on the date, and store today's data under that date",
        )
        .option('--accept-schema', 'export even if columns have changed in a way that stops a run (drift)')
        .option('--wait', 'follow the runs to their ends; Ctrl-C does not stop them')
        .option('--json', JSON_ALONE),
    examples: {
      'start leads --deployment prod --wait': 'one run, followed to its end',
      'start --all --deployment prod': 'the whole night, now',
      'start leads contacts --date 2026-11-20 --deployment prod --wait':
        'a past date, if the filters of these entities depend on the date',
      'start leads --accept-schema --deployment prod': 'the columns of the CRM have changed on purpose',
    },
    action: async () => (await import('../runs/start-run.ts')).start,
  },
  follow: {
    about: 'follow a run to its end; Ctrl-C does not stop the run',
    takes: withRun,
    examples: {
      'follow leads --deployment prod': 'the newest run of leads, under way or ended',
      'follow leads-20261120T020000Z-1a2b3c --deployment prod': 'a run by its name',
    },
    action: async () => (await import('../runs/follow.ts')).follow,
  },
  list: {
    about: 'list runs, newest first',
    takes: (command) =>
      command
        .argument('[entity...]', `show only runs of these entities: ${ENTITIES.join(', ')}`, entitiesArgument)
        .addOption(
          new Option('--since <time>', 'how far back: 12h, 7d, 2w or a date')
            .argParser((text) => sinceArgument(text))
            .default(sinceArgument('7d'), '7d'),
        )
        .addOption(new Option('--failed', 'show only runs that failed, were stopped or timed out').conflicts('running'))
        .option('--running', 'show only runs that are under way')
        .option('--json', 'print one JSON document'),
    examples: {
      'list --deployment prod': 'the last seven days',
      'list leads customers --since 2026-11-01 --deployment prod': 'two entities since a date',
      'list --running --deployment prod': 'runs that are under way',
      'list --failed --since 30d --deployment prod': 'runs that failed within a month',
    },
    note: `In a pipe: one line for each run, separated by tabs: start, entity, date, outcome, seconds, rows, bytes, standing, run, warnings, and why a run waits.
Empty values at the end of a line are left out.`,
    action: async () => (await import('../runs/list-runs.ts')).list,
  },
  show: {
    about: 'show what a run did, how it ended, and where to look next',
    takes: (command) => withRun(command).option('--json', 'print one JSON document'),
    examples: {
      'show leads --deployment prod': 'the newest run of leads',
      'show leads --date 2026-11-20 --deployment prod': 'the newest run of leads for a date',
      'show 1a2b3c --deployment prod': 'the run whose name ends with 1a2b3c',
      'show leads-20261120T020000Z-1a2b3c --json --deployment prod': 'a run by its name, for a program',
    },
    action: async () => (await import('../runs/show-run.ts')).show,
  },
  logs: {
    about: 'print what the functions logged about a run',
    takes: withRun,
    examples: {
      'logs leads --deployment prod': 'the log of the newest run of leads',
      'logs leads-20261120T020000Z-1a2b3c --deployment prod': 'the log of a run by its name',
    },
    action: async () => (await import('../runs/logs.ts')).logs,
  },
  retry: {
    about: 'start a run again with the input and date of an earlier one',
    takes: (command) =>
      withRun(command)
        .option('--force', 'start even if the earlier run is still under way')
        .option('--fresh', 'request a new export, even if the CRM still has the export of the earlier run')
        .option('--wait', 'follow the new run to its end; Ctrl-C does not stop the run')
        .option('--json', JSON_ALONE),
    examples: {
      'retry leads-20261120T020000Z-1a2b3c --deployment prod --wait': 'a run that failed',
      'retry leads --deployment prod': 'the newest run of leads',
    },
    action: async () => (await import('../runs/retry-run.ts')).retry,
  },
  backfill: {
    about: 'start one run for each date that is not published',
    takes: (command) =>
      command
        .argument('<entity>', ENTITIES.join(', '), entityArgument)
        .requiredOption('--from <YYYY-MM-DD>', 'the first date', dateArgument)
        .requiredOption('--to <YYYY-MM-DD>', 'the last date', dateArgument)
        .option('--concurrency <number>', 'runs at the same time', numberArgument(1, 10), 2)
        .option('--dry-run', 'list published dates and the runs that would start; start nothing')
        .option('--same-data', "start even if the plan does not depend on the date: each date gets today's data")
        .option('--json', JSON_ALONE),
    examples: {
      'backfill leads --from 2026-03-01 --to 2026-03-31 --dry-run --deployment prod': 'the missing dates of March',
      'backfill leads --from 2026-03-01 --to 2026-03-31 --deployment prod':
        'start the missing dates; after an interruption, the same command continues',
    },
    action: async () => (await import('../runs/backfill.ts')).backfill,
  },
  release: {
    about: 'publish a quarantined file, and record the reason',
    takes: (command) =>
      withRun(command)
        .requiredOption('--reason <text>', 'why the file is right; stored beside the file in the bucket')
        .option('--new-normal', 'from now on, checks compare only with this file and later ones')
        .option('--yes', 'do not compare the files, and do not ask')
        .option('--wait', 'follow the release to its end; Ctrl-C does not stop the release'),
    examples: {
      'release meetings-20261120T020000Z-1a2b3c --reason "Holidays" --deployment prod --wait':
        'publish this file to readers',
      'release meetings --reason "Archived" --new-normal --deployment prod':
        'publish the file, and expect its number of rows from now on',
    },
    note: `release compares the file with what readers have, as diff --run does, and reads both files whole. On a terminal, it then asks for confirmation. With --yes, it does neither.`,
    action: async () => (await import('../runs/release-run.ts')).release,
  },
  stop: {
    about: 'stop a run that is under way',
    takes: (command) => withRun(command).option('--yes', 'do not ask'),
    examples: {
      'stop leads --deployment prod': 'the newest run of leads; asks for confirmation',
      'stop leads-20261120T020000Z-1a2b3c --deployment prod --yes': 'for a script',
    },
    action: async () => (await import('../runs/stop.ts')).stop,
  },
  pause: {
    about: 'switch nightly rules off',
    takes: withEntities,
    examples: {
      'pause leads --deployment prod': 'no more nightly runs of leads until resume',
      'pause --all --deployment prod': 'while the CRM is down for maintenance',
    },
    action: async () => (await import('../night/pause.ts')).pause,
  },
  resume: {
    about: 'switch nightly rules on again',
    takes: withEntities,
    examples: {
      'resume leads --deployment prod': 'from the next night on',
      'resume --all --deployment prod': 'all entities that the configuration enables',
    },
    action: async () => (await import('../night/pause.ts')).resume,
  },
} satisfies Record<string, Definition>;

function withEntities(command: Command): Command {
  return command.argument('[entity...]', ENTITIES.join(', '), entitiesArgument).option('--all', 'all entities');
}
