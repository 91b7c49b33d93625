module helm

go 1.24

require helm.sh/helm/v3 v3.19.0
