/** Folders and ports of the two ends. */
export interface Places {
  /** The folder of this run: certificate, sockets, logs, and `files/bench/` with the files. */
  dir: string;
  ports: { origin: number; slow: number; sink: number };
}

const PARTS = '<ListPartsResult><UploadId>upload-1</UploadId><IsTruncated>false</IsTruncated></ListPartsResult>';

/** nginx for both ends: TLS, the origin's files, and an S3 that keeps nothing; bodies stream through to `world.py`. */
export function nginxConf({ dir, ports }: Places): string {
  return `
user root; worker_processes 1; worker_rlimit_nofile 4096; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  sendfile on; default_type text/csv; access_log off; client_max_body_size 0; client_body_buffer_size 256k;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
  ssl_protocols TLSv1.3; ssl_certificate ${dir}/cert.pem; ssl_certificate_key ${dir}/key.pem;
  keepalive_requests 1000000; keepalive_timeout 300;
  proxy_http_version 1.1; proxy_set_header Connection "";
  log_format calls '$connection $request_method $status $request_length $request_uri';
  upstream sink { server unix:${dir}/sink.sock; keepalive 64; }
  upstream slow { server unix:${dir}/slow.sock; keepalive 64; }
  server { listen 127.0.0.1:${ports.origin} ssl; access_log ${dir}/origin.log calls; root ${dir}/files; output_buffers 2 256k; }
  server {
    listen 127.0.0.1:${ports.slow} ssl; access_log ${dir}/origin.log calls;
    location / { proxy_pass http://slow; proxy_buffering off; proxy_buffer_size 64k; proxy_buffers 8 64k; }
  }
  server {
    listen 127.0.0.1:${ports.sink} ssl; access_log ${dir}/sink.log calls; root ${dir}/files;
    location / {
      if ($request_method ~ ^(PUT|POST)$) { rewrite ^ /-sink last; }
      if ($arg_uploadId) { rewrite ^ /-parts last; }
    }
    location = /-sink { internal; proxy_pass http://sink; proxy_request_buffering off; }
    location = /-parts { internal; default_type application/xml; return 200 '${PARTS}'; }
  }
}
`;
}
