import type { FileName, InputOf } from '../api/endpoint-types.ts';
import { DownloadButton } from './download-button.tsx';

type ExportName = Extract<FileName, `GET ${string}/costs/export`>;

interface CostExportProps {
  label: string;
  /** The endpoint. Default: the costs of the tenant. */
  name?: ExportName;
  query: NonNullable<InputOf<ExportName>['query']>;
}

/** Saves an export of costs. */
export function CostExport({ label, name = 'GET /v1/costs/export', query }: CostExportProps) {
  return <DownloadButton label={label} name={name} input={{ query }} />;
}
