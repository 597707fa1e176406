import { readFileSync } from 'node:fs';

/** A finding of a scanner about a resource of the templates. */
export interface Finding {
  /** The scanner's rule, such as CKV_AWS_117 or W3005. */
  check: string;
  /** The type and logical id, such as `AWS::Lambda::Function.CreateExportFunction1D2CC0EA`. */
  resource: string;
  text: string;
}

/** A row of the table in docs/security.md: the reason for accepting a finding. */
export interface Answer {
  check: string;
  /** The prefix of the resource: a type, or a type and the beginning of logical ids. */
  resource: string;
  reason: string;
  link: string;
}

const DOCUMENT = 'docs/security.md';
const HEADING = '\n## Findings of scanners that stay\n';
const ROW = /^\| `([^`]+)` \| `([^`]+)` \| (.+) \| (\S*) \|$/gm;

/** The rows of the document. */
export function readAnswers(document = readFileSync(DOCUMENT, 'utf8')): Answer[] {
  const section = document.split(HEADING)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(ROW)].map(([, check = '', resource = '', reason = '', link = '']) => {
    return { check, resource, reason: reason.trim(), link };
  });
}

/** Findings without an answer, answers without a finding, and answers without a reason or a source; a line each. */
export function compare(findings: Finding[], answers: Answer[]): string[] {
  // The table cannot accept errors of cfn-lint.
  const answered = ({ check, resource }: Finding) =>
    answers.find((answer) => !/^E\d/.test(check) && answer.check === check && resource.startsWith(answer.resource));
  const used = new Set(findings.map(answered));
  const unanswered = findings.filter((finding) => !answered(finding));
  return [
    ...unanswered.map(({ check, resource, text }) => `${check} ${resource}: ${text}`),
    ...answers
      .filter((answer) => !used.has(answer))
      .map(({ check, resource }) => `${DOCUMENT}: nothing is found for ${check} ${resource} any more`),
    ...answers
      .filter(({ reason, link }) => reason.length < 20 || !link.includes('https://'))
      .map(({ check, resource }) => `${DOCUMENT}: the answer to ${check} ${resource} lacks a reason or a link`),
  ];
}
