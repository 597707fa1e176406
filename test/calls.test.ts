import { globSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../cli/program.ts';
import { helpOf } from './cli/support/is-accepted.ts';

/** Every call of the command that people read, in pages, help texts and messages, names a command and options that exist. */

const { commands } = await createProgram();
/** Commands that earlier releases had. Only the lists of what was removed name them. */
const REMOVED = ['deployments', 'history', 'schema'];
/** Other programs that pages show calls of. */
const OTHER_PROGRAMS = /^(?:aws|npx|npm|node|git|cdk|docker|python3?|pip|source|export|ssh|curl|crm-export) /;
/** Options of other programs in messages that do not name the program right before them. */
const OTHER_OPTIONS = [
  ...['--version', '--revert-drift', '--semi-space-growth-factor'],
  ...['--start-time', '--end-time', '--period', '--statistics'],
];

function optionsOf({ options }: Command): string[] {
  return [...options.flatMap(({ short, long }) => [short, long]), '--help'].flatMap((flag) => flag ?? []);
}

/** The mistake in a call, such as `list --failed`; `undefined` without a mistake. */
function problemOf(call: string): string | undefined {
  const [name = '', ...words] = call
    .replace(/"[^"]*"?|'[^']*'?/g, 'TEXT')
    .replace(/\s(?:[|>#]|&&).*/, '')
    .replace(/[.,;:)]+(?:\s.*)?$/, '')
    .trim()
    .split(/\s+/);
  if (['help', '--help', '--version'].includes(name)) return undefined;
  const command = commands.find((each) => each.name() === name);
  if (!command) return `there is no command ${name}: ${call}`;
  const flags = words.flatMap((word) => /^--?[a-z][a-z-]*/.exec(word)?.[0] ?? []);
  const unknown = flags.filter((flag) => !optionsOf(command).includes(flag));
  return unknown.length > 0 ? `${name} has no option ${unknown.join(', ')}: ${call}` : undefined;
}

const problemsOf = (calls: string[]) => [...new Set(calls.flatMap((call) => problemOf(call) ?? []))];

/** The calls in a text that begin with the command itself. */
const wholeCalls = (text: string) =>
  [...text.matchAll(/\bcrm-export ((?:[a-z]|--[a-z])[^\n`]*)/g)].map(([, call = '']) => call);

describe('pages', () => {
  const pages = globSync(['README.md', 'CHANGELOG.md', 'docs/**/*.md', 'sandbox/*.md']);

  /** The text of a page without the lists of what was removed, and without what earlier releases had. */
  function textOf(page: string): string {
    const [text = ''] = readFileSync(page, 'utf8').split(/^## \[\d/m);
    return text.replace(/^##+ .*removed.*\n[\s\S]*?(?=^##)/gim, '');
  }

  const codeOf = (text: string) => [...text.matchAll(/^```\w*\n[\s\S]*?^```|`[^`\n]+`/gm)].map(([code]) => code);

  test.each(pages)('%s shows only calls with commands and options that exist', (page) => {
    const code = codeOf(textOf(page));
    const spans = code.filter((each) => !each.startsWith('```')).map((each) => each.slice(1, -1));
    const short = spans.filter((span) => /^[a-z][a-z-]* (?:--[a-z]|[A-Z]{3})/.test(span) && !OTHER_PROGRAMS.test(span));

    expect(problemsOf([...code.flatMap(wholeCalls), ...short])).toEqual([]);
    expect(spans.filter((span) => REMOVED.includes(span))).toEqual([]);
  });
});

describe('the help', () => {
  test.each(commands.map((command) => [command.name(), command] as const))(
    'of %s names only commands and options that exist',
    (_, command) => {
      const help = helpOf(command).replaceAll(/npx\s+--no\s+--\s+/g, '');
      const known = optionsOf(command);
      const others = [...help.matchAll(/(?:\b([a-z-]+) )?(?<![\w-])(--[a-z][a-z-]*)/g)].filter(
        ([, name = '', flag = '']) => !known.includes(flag) && problemOf(`${name} ${flag}`) !== undefined,
      );

      expect(problemsOf(wholeCalls(help))).toEqual([]);
      expect(others.map(([text]) => text)).toEqual([]);
    },
  );
});

describe('messages', () => {
  const sources = globSync('{cli,core,lambdas,lib,local}/**/*.ts', { exclude: ['cli/report/{style,plots}.ts'] });
  const messages = sources.map((file) => [file, withoutExpressions(readFileSync(file, 'utf8'))] as const);

  /** The source with the command in place of its constant, and a word, or the option in it, in place of every other expression. */
  function withoutExpressions(source: string): string {
    let text = source.replaceAll(/\$\{CRM_EXPORT\}/g, 'crm-export');
    for (let before = ''; before !== text; ) {
      before = text;
      text = text.replace(/\$\{([^{}`]*)\}/g, (_, expression: string) => / --[a-z-]+/.exec(expression)?.[0] ?? 'VALUE');
    }
    return text;
  }

  test('on the stored screens name only commands and options that exist', () => {
    const calls = globSync('test/screens/*.txt').flatMap((file) => wholeCalls(readFileSync(file, 'utf8')));

    expect(calls.length).toBeGreaterThan(50);
    expect(problemsOf(calls)).toEqual([]);
  });

  test('name only options that exist', () => {
    const known = new Set([...commands.flatMap(optionsOf), ...OTHER_OPTIONS]);
    const flags = messages
      .filter(([file]) => /^(?:cli|core|lambdas)\//.test(file))
      .flatMap(([file, text]) => {
        const said = text
          .replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
          .replace(/\b(?:aws [a-z0-9]+|npx|npm start|node) [^`'"\n]*/g, '');
        return [...said.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => `${flag} in ${file}`);
      });

    expect(flags.length).toBeGreaterThan(100);
    expect(flags.filter((flag) => !known.has(flag.split(' ')[0] ?? ''))).toEqual([]);
  });
});
