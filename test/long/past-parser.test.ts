import { testReadingPastParser } from '../support/past-parser.ts';

testReadingPastParser(1500);
