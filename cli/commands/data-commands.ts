import { Option } from 'commander';
import { ENTITIES } from '../../core/config/entities.ts';
import {
  dateArgument,
  entityArgument,
  numberArgument,
  outputArgument,
  pathArgument,
} from '../support/command-options.ts';
import { type Definition, JSON_ALONE, withFile } from './define-command.ts';

export const DATA_COMMANDS = {
  download: {
    about: 'download published files and check size and checksum',
    takes: (command) =>
      withFile(command, '[entity]')
        .option('--all', 'download the files of all entities')
        .option('--excel', 'write a workbook (xlsx) in which every cell is text, exactly as in the file')
        .option(
          '-o, --output <file>',
          'file to write, or directory with --all; - is standard output; default: ENTITY-DATE with the ending of the file (leads-2026-11-20.csv, with --excel leads-2026-11-20.excel.xlsx) in this directory',
          outputArgument,
        )
        .option('--force', 'replace an existing file')
        .option('--json', 'print one JSON document'),
    examples: {
      'download leads --deployment prod': 'the newest leads',
      'download leads --date 2026-11-20 -o /data/leads.csv --deployment prod':
        'the leads of a date; after an interruption, the same command continues',
      'download leads -o - --deployment prod | gzip > leads.csv.gz':
        'through a pipe; exit code 1 if the file is not complete',
      'download --all --date 2026-11-20 -o /data --deployment prod': 'all entities of a date, into a directory',
      'download leads --excel --deployment prod': 'a workbook for a spreadsheet program',
    },
    note: `With --excel, every cell has the text of the file: telephone numbers keep + and zeros, and no formula runs. A sheet holds 1,048,576 rows with the header, 16,384 columns, and 32,767 characters in a cell. If the file has more, the command names the row and column and stops.
With --all, the exit code is 1 if a file is missing or corrupt. The command still downloads the other files. With --all and --date, all files are of one revision of the night.`,
    action: async () => (await import('../data/download.ts')).download,
  },
  peek: {
    about: 'print columns, size and the first ten rows of a published file',
    takes: (command) => withFile(command).option('--columns', 'columns, types and labels from the manifest, no rows'),
    examples: {
      'peek leads --deployment prod': 'columns, size and the first ten rows of the newest leads',
      'peek leads --date 2026-11-20 --deployment prod': 'the file of a date',
      'peek leads --columns --deployment prod': 'the columns alone',
    },
    note: `The rows are customers' data. They stay in the scrollback of the terminal, and wherever you write the output. With --columns, the command reads no row. Without that option, it reads only the first rows, and does not verify the file as download does.`,
    action: async () => (await import('../data/peek.ts')).peek,
  },
  diff: {
    about: 'compare two published files, or a quarantined file with what readers have',
    takes: (command) =>
      command
        .argument('<entity>', ENTITIES.join(', '), entityArgument)
        .option('--from <YYYY-MM-DD>', 'the earlier date; default: the last one before --to', dateArgument)
        .option('--to <YYYY-MM-DD>', 'the later date; default: the newest', dateArgument)
        .addOption(
          new Option(
            '--run <name>',
            'instead of a later date, the file that one run stored, even if it is quarantined; the unique end of a name is enough',
          ).conflicts('to'),
        )
        .option('--key <column>', 'the column that identifies a row; default: id, if the files have it')
        .option('--show-keys', 'also print the keys themselves')
        .option('--json', 'print one JSON document'),
    examples: {
      'diff leads --deployment prod':
        'compare the newest file with the file before it: columns, and rows that were added, removed and changed',
      'diff leads --run leads-20261121T020000Z-1a2b3c --deployment prod':
        'compare a quarantined file with the file that readers have instead',
      'diff leads --from 2026-11-20 --to 2026-11-21 --key email --show-keys --deployment prod':
        'compare two dates by the column email, and print its values',
    },
    note: `diff compares the published tables of both dates, if both were made in the same way and lack no value. Otherwise it reads both files whole, and verifies size and CRC-32.
Rows that do not fit in memory are in the temporary folder (TMPDIR) until the command ends.
Keys are customers' data: the command counts them, and prints them only with --show-keys: + added, - removed, ~ changed.`,
    action: async () => (await import('../data/diff.ts')).diff,
  },
  table: {
    about: 'write the table of a published file without a new export',
    takes: (command) =>
      command
        .argument(
          '<run>',
          'name, unique end or ARN of a run whose file is published, or an entity: the run of --date, or the latest',
        )
        .option('--date <YYYY-MM-DD>', 'with an entity: the table of this date', dateArgument)
        .option('--wait', 'follow the run to its end; Ctrl-C does not stop the run')
        .addOption(
          new Option(
            '--outdated',
            'with an entity: replace what was written under other column settings than the deployed ones. Writes tables again, one run for each date. Removes feeds, copied tables, and tables that no run can write again',
          ).conflicts('date'),
        )
        .option('--dry-run', 'with --outdated: name the dates, count the rest, and change nothing'),
    examples: {
      'table leads-20261120T020000Z-1a2b3c --deployment prod --wait': 'a run that ended as TableNotWritten',
      'table leads --date 2026-03-01 --deployment prod': 'a date that was published before there were tables',
      'table leads --outdated --deployment prod':
        'after a change of `except` or `hash`, once it is deployed; after an interruption, the same command continues',
    },
    action: async () => (await import('../tables/table.ts')).table,
  },
  changes: {
    about: 'count the changes between tables, or release a stopped feed',
    takes: (command) =>
      command
        .argument('<entity>', 'an entity with `changes`', entityArgument)
        .option(
          '--since <sequence>',
          'show all feeds after this number in the chain; default: the newest feed',
          numberArgument(0),
        )
        .addOption(
          new Option(
            '--release',
            'release the next feed, no matter how many records are missing; needs --reason',
          ).conflicts(['since', 'json']),
        )
        .option(
          '--reason <text>',
          'why it is right that so many records are missing; stored beside the feed in the bucket',
        )
        .option('--json', 'print one JSON document: the records of the feeds, and a stopped deletion'),
    examples: {
      'changes leads --deployment prod': 'counts of the newest feed, and whether a mass deletion was stopped',
      'changes leads --since 41 --deployment prod --json': 'the feeds after feed 41',
      'changes leads --release --reason "Archived" --deployment prod': 'the missing records were deleted on purpose',
    },
    note: `The command prints counts, no rows. The rows of a feed are in changes/entity=ENTITY/date=DATE/run=RUN/changes.parquet in the bucket. docs/recipes has queries for DuckDB and Athena, with the history of a record.`,
    action: async () => (await import('../changes/changes.ts')).changes,
  },
  readers: {
    about: 'print the policy that a reader in another account needs',
    takes: (command) =>
      command
        .argument(
          '[principal]',
          'account, ARN of a role, or organization, as written in `readers` of the configuration',
        )
        .option(
          '--tag',
          'tag all published objects, which is needed after a change of `readers` or of left-out columns: a run tags only the objects that it writes',
        ),
    examples: {
      'readers 444455556666 --deployment prod > policy.json': 'the policy that a role in that account needs',
      'readers --tag --deployment prod':
        'after a deployment that shares files for the first time, or that leaves out other columns',
    },
    action: async () => (await import('../readers/readers.ts')).readers,
  },
  update: {
    about: 'update customers from a CSV or JSON Lines file',
    takes: (command) =>
      command
        .argument('[file]', 'NAME.csv or NAME.jsonl', pathArgument)
        .option('--resume <batch>', 'instead of a file: the lines of a batch that were neither applied nor rejected')
        .option(
          '--over-newer',
          'with --resume: send the lines even if a later batch may have changed the same customers',
        )
        .option('--dry-run', 'only check the lines, and show the requests of three of them')
        .option(
          '--max-rate <changes-per-second>',
          'changes per second, at most what the configuration allows',
          numberArgument(0.1, undefined, 'decimal'),
        )
        .option(
          '--stop-after-failures <n>',
          'stop after this number of lines that were not applied, 1 to 1000',
          numberArgument(1, 1000),
        )
        .option('--yes', 'do not ask before changing more than one customer')
        .option(
          '--configuration <file>',
          'with --dry-run: the configuration to check against; default: config/NAME.json',
          pathArgument,
        )
        .option('--json', JSON_ALONE),
    examples: {
      'update customers.csv --deployment prod --dry-run': 'only check the file',
      'update customers.csv --deployment prod --max-rate 2': 'two changes a second; asks for confirmation',
      'update --resume update-20261120T094133Z-9bef26 --deployment prod': 'send the remaining lines of a batch',
    },
    action: async () => (await import('../updates/update.ts')).update,
  },
  'update-status': {
    about: 'show the last batches of customer updates, or one of them',
    takes: (command) =>
      command
        .argument('[batch]', 'name of a batch')
        .option(
          '--failed-to <file>',
          'write the lines that are not applied yet to a new JSON Lines file (.jsonl), to correct and send them',
          pathArgument,
        )
        .option('--json', 'print one JSON document'),
    examples: {
      'update-status --deployment prod': 'the last batches',
      'update-status update-20261120T094133Z-9bef26 --deployment prod --failed-to failed.jsonl': 'lines to correct',
    },
    action: async () => (await import('../updates/update-status.ts')).updateStatus,
  },
} satisfies Record<string, Definition>;
