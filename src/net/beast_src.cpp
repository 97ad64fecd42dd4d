#define BOOST_BEAST_SOURCE  // instantiate the parser here
#include "net/asio.h"

// The parts of boost/beast/src.hpp that parsing a head needs; the whole compiles zlib and WebSocket too.
#include <boost/beast/http/detail/rfc7230.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include <boost/beast/core/impl/string.ipp>
#include <boost/beast/http/detail/basic_parser.ipp>
#include <boost/beast/http/detail/rfc7230.ipp>
#include <boost/beast/http/impl/basic_parser.ipp>
#include <boost/beast/http/impl/error.ipp>
#include <boost/beast/http/impl/field.ipp>
#include <boost/beast/http/impl/rfc7230.ipp>
#include <boost/beast/http/impl/verb.ipp>
