#include "net/asio.h"

#include <boost/asio/ssl/impl/src.hpp>
