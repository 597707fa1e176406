import { readFileSync } from 'node:fs';

/** A finding of a scanner about a resource of the templates. */
export interface Finding {
  /** The scanner's rule: CKV_AWS_117, W3005. */
  check: string;
  /** `AWS::Lambda::Function.CreateExportFunction1D2CC0EA`. */
  resource: string;
  text: string;
}

/** A row of the table in docs/security.md: why a finding stays. */
export interface Answer {
  check: string;
  /** What the resource begins with: all resources of a type, or some by the beginning of their logical ids. */
  resource: string;
  reason: string;
  link: string;
}

const DOCUMENT = 'docs/security.md';
const HEADING = '\n## Findings of scanners that stay\n';
const ROW = /^\| `([^`]+)` \| `([^`]+)` \| (.+) \| (\S*) \|$/gm;

/** The answers that the document gives. */
export function readAnswers(document = readFileSync(DOCUMENT, 'utf8')): Answer[] {
  const section = document.split(HEADING)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(ROW)].map(([, check = '', resource = '', reason = '', link = '']) => {
    return { check, resource, reason: reason.trim(), link };
  });
}

/** Findings without an answer, answers without a finding, and answers without a reason or a source; a line each. */
export function compare(findings: Finding[], answers: Answer[]): string[] {
  // Errors of cfn-lint cannot be accepted.
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
