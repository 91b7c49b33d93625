# SPDX-License-Identifier: Apache-2.0
# docker build -t wick . : the same image as `make image` makes without docker.
FROM debian:12-slim AS build
WORKDIR /src
COPY . .
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make ca-certificates git && make dist
RUN mkdir -p /root-of-image/tmp /root-of-image/var/lib/wick /root-of-image/var/cache/wick /root-of-image/etc/ssl/certs && \
    chmod 1777 /root-of-image/tmp && chmod 700 /root-of-image/var/lib/wick /root-of-image/var/cache/wick && \
    cp build/dist/wick /root-of-image/wick && mkdir -p /root-of-image/etc/wick && \
    cp LICENSE build/dist/wick.spdx.json /root-of-image/etc/wick/ && cp build/dist/wick.licences.txt /root-of-image/etc/wick/licences.txt && cp /etc/ssl/certs/ca-certificates.crt /root-of-image/etc/ssl/certs/ && \
    printf 'root:x:0:0:root:/:/wick\nwick:x:65532:65532:wick:/:/wick\n' >/root-of-image/etc/passwd && \
    printf 'root:x:0:\nwick:x:65532:\n' >/root-of-image/etc/group

FROM scratch
COPY --from=build /root-of-image/ /
ENV PATH=/ SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
EXPOSE 11000
VOLUME /var/lib/wick
ENTRYPOINT ["/wick"]
