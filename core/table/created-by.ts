/** What a Parquet file says of its writer. Readers in Java trust no statistics of texts by one that names itself otherwise (apache/parquet-format, parquet.thrift). */
export function createdBy(softwareVersion: string): string {
  return `crm-nightly-export version ${softwareVersion} (build ${softwareVersion})`;
}
